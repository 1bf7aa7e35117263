/** Signals between nodes: each hears its own at once, and those of others late or never. */
import { MemorySignals } from "../../../src/ports/signals/memory-signals.ts";
import type { Signals, Topic } from "../../../src/ports/signals/signals.ts";
import type { Life } from "../life.ts";
import type { FleetWorld } from "./world.ts";

export class NodeSignals implements Signals {
  readonly reliable = false;
  readonly #world: FleetWorld;
  readonly #life: Life;
  readonly #own = new MemorySignals();

  constructor(world: FleetWorld, life: Life) {
    this.#world = world;
    this.#life = life;
    world.ears.add(this);
  }

  emit(topic: Topic, count = 1): void {
    if (this.#life.isDead) return;
    const { ears, random, mix, timeline } = this.#world;
    this.#own.emit(topic, count);
    for (const other of ears) {
      if (other === this || random.chance(mix.messages.lost)) continue;
      timeline.after(random.below(random.chance(mix.messages.late) ? 3000 : 5), () => other.#hear(topic, count));
    }
  }

  listen(topic: Topic, heard: (count: number) => void): () => void {
    return this.#own.listen(topic, heard);
  }

  end(): void {
    this.#world.ears.delete(this);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.end();
  }

  #hear(topic: Topic, count: number): void {
    this.#life.reach(() => this.#own.emit(topic, count));
  }
}
