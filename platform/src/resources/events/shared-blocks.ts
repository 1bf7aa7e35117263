/** Makes the blocks of events that readers get, once for all readers that stand at the same event and may see the same resources. */
import type { Caller } from "../../kernel/caller.ts";
import { EventBlock } from "../../kernel/event-block.ts";
import { allows } from "../../kernel/scope.ts";
import type { Backlog } from "./backlog.ts";
import { type AccountEvent, streamedResources } from "./model.ts";

export interface Next {
  /** The number of the last event that the reader has seen then. */
  at: number;
  /** Undefined if the reader may see none of the events. */
  block: EventBlock<AccountEvent> | undefined;
}

/** What a caller may see. Callers with the same `name` may see the same. */
export interface Sight {
  name: string;
  sees(event: AccountEvent): boolean;
}

const EVENTS_AT_ONCE = 200;
/** Readers that keep up share one block. Others are at a few places behind it. */
const MOST_KEPT = 64;

export class SharedBlocks {
  readonly #backlog: Backlog;
  /** Names the hub in event ids, since the numbers of another hub mean nothing here. */
  readonly #epoch: string;
  readonly #made = new Map<string, Next>();
  #newest = 0;

  constructor(backlog: Backlog, epoch: string) {
    this.#backlog = backlog;
    this.#epoch = epoch;
  }

  /** Returns the events after a number, or undefined if there are none yet. */
  after(at: number, sight: Sight): Next | undefined {
    if (at === this.#backlog.last) return undefined;
    if (this.#newest !== this.#backlog.last || this.#made.size >= MOST_KEPT) this.#made.clear();
    this.#newest = this.#backlog.last;
    const name = `${at} ${sight.name}`;
    const made = this.#made.get(name) ?? this.#make(at, sight);
    this.#made.set(name, made);
    return made;
  }

  #make(at: number, { sees }: Sight): Next {
    const next = this.#backlog.after(at, EVENTS_AT_ONCE);
    const visible = next.filter(({ event }) => sees(event));
    const events = visible.map(({ number, event }) => ({ id: `${this.#epoch}-${number}`, data: event }));
    return { at: next.at(-1)!.number, block: events.length > 0 ? new EventBlock(events) : undefined };
  }
}

export function sightOf({ grants, endpoints }: Pick<Caller, "grants" | "endpoints">): Sight {
  return {
    name: JSON.stringify([grants.toSorted(), endpoints?.toSorted()]),
    sees({ type, resource, id, endpointId }) {
      if (type === "reset") return true;
      if (endpoints) {
        const endpoint = resource === "serverless" ? id : endpointId;
        if (endpoint === undefined || !endpoints.includes(endpoint)) return false;
      }
      return allows(grants, type === "jobs" ? streamedResources.serverless : streamedResources[resource!]);
    },
  };
}
