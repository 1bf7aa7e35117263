/** The life of a simulated process: events reach it only while it is awake, and never once it is dead. */
import type { Timeline } from "./timeline.ts";

export class Life {
  readonly timeline: Timeline;
  isDead = false;
  #asleepUntil = 0;

  constructor(timeline: Timeline) {
    this.timeline = timeline;
  }

  pause(ms: number): void {
    this.#asleepUntil = Math.max(this.#asleepUntil, this.timeline.elapsed + ms);
  }

  get isAsleep(): boolean {
    return this.#asleepUntil > this.timeline.elapsed;
  }

  kill(): void {
    this.isDead = true;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.timeline.after(ms, () => this.reach(resolve)));
  }

  /** Delivers an event as soon as the process is awake. */
  reach(happen: () => void): void {
    if (this.isDead) return;
    const leftMs = this.#asleepUntil - this.timeline.elapsed;
    if (leftMs > 0) this.timeline.after(leftMs, () => this.reach(happen));
    else happen();
  }
}
