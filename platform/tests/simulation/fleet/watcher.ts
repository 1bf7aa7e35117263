/** Follows an account's events on any node, and folds them into a picture of the account's records. */
import type { Caller } from "../../../src/kernel/caller.ts";
import { streamed } from "../../../src/resources/events/kinds.ts";
import type { AccountEvent } from "../../../src/resources/events/model.ts";
import { Life } from "../life.ts";
import type { SimulatedNode } from "./node.ts";
import type { FleetWorld } from "./world.ts";

const MOST_LISTED = 500;

export class Watcher {
  readonly #world: FleetWorld;
  readonly #caller: Caller;
  readonly #life: Life;
  /** The versions of the account's records, as far as the events have told. */
  picture = new Map<string, number>();
  #lastId: string | undefined;
  #node: SimulatedNode | undefined;
  /** The number of the current stream. What an earlier one still brings is ignored. */
  #stream = 0;

  constructor(world: FleetWorld, caller: Caller) {
    this.#world = world;
    this.#caller = caller;
    this.#life = new Life(world.timeline);
  }

  live(): void {
    void this.#live();
  }

  async #live(): Promise<void> {
    const { random } = this.#world;
    for (;;) {
      const up = this.#world.nodesUp();
      // A reader comes back to the same node if it is there, so that it may continue after its last event.
      const node = this.#node && up.includes(this.#node) ? this.#node : random.pick(up);
      if (node) await this.#follow(node);
      await this.#life.sleep(random.below(1000));
    }
  }

  async #follow(node: SimulatedNode): Promise<void> {
    const { random, timeline } = this.#world;
    const gone = new AbortController();
    this.#node = node;
    this.#stream++;
    const cut = Promise.withResolvers<"cut">();
    const reset = () => cut.resolve("cut");
    node.calls.add(reset);
    if (random.chance(0.5) && !this.#world.isQuiet)
      timeline.after(random.below(20_000), () => {
        if (!this.#world.isQuiet) reset();
      });
    const reading = this.#read(node, gone).then(() => "over" as const);
    await Promise.race([reading, cut.promise]);
    this.#stream++;
    node.calls.delete(reset);
    if (!node.life.isDead) node.life.reach(() => gone.abort());
  }

  async #read(node: SimulatedNode, gone: AbortController): Promise<void> {
    const stream = this.#stream;
    try {
      const blocks = await node.events.follow(this.#caller, this.#lastId, gone.signal);
      for await (const block of blocks) {
        for (const text of block.bytes.toString().split("\n\n")) {
          if (stream !== this.#stream) return;
          await this.#take(node, text, stream);
        }
      }
    } catch (error) {
      this.#world.trace.note(`a reader of events is refused: ${(error as Error).message}`);
    }
  }

  /** An event counts as read once everything is done that it asks for. */
  async #take(node: SimulatedNode, text: string, stream: number): Promise<void> {
    const [, id, json] = /^id: (.*)\ndata: (.*)$/.exec(text) ?? [];
    if (id === undefined) return;
    const event = JSON.parse(json!) as AccountEvent;
    this.#checkOrder(id, event);
    const listed = event.type === "reset" ? await this.#list(node) : undefined;
    if (stream !== this.#stream) return;
    this.#lastId = id;
    if (listed) this.picture = listed;
    if (event.type === "changed" || event.type === "removed") this.#fold(event);
  }

  /** Within one stream, every number follows the one before it. A reset begins anew. */
  #checkOrder(id: string, { type }: AccountEvent): void {
    const [epoch, number] = numbered(id);
    const [before, last] = this.#lastId === undefined ? [] : numbered(this.#lastId);
    if (type === "reset" || type === "end" || epoch !== before) return;
    if (number !== last! + 1) this.#world.trace.broken(`a reader got event ${number} after event ${last}`);
  }

  #fold({ type, resource, id, version = 0 }: AccountEvent): void {
    const key = `${resource}/${id}`;
    const known = this.picture.get(key);
    if (type === "removed") this.picture.delete(key);
    // A list that was read after the reset may be newer than the events that follow.
    else this.picture.set(key, Math.max(known ?? 0, version));
  }

  async #list(node: SimulatedNode): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    const { account } = this.#caller;
    for (const { kind, key, resource, show } of streamed) {
      const records = await node.read({ kind, account, ...(key && { key }), limit: MOST_LISTED });
      for (const record of records) if (show(record)) found.set(`${resource}/${record.id}`, record.version);
    }
    return found;
  }
}

function numbered(id: string): [string, number] {
  const at = id.lastIndexOf("-");
  return [id.slice(0, at), Number(id.slice(at + 1))];
}
