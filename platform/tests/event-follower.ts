/** A client that follows an account's events like a console: it reads the lists at each `reset`, then applies the events. */
import { once } from "node:events";
import { type ClientRequest, get, type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { AccountEvent } from "../src/resources/events/model.ts";
import { eventsOf } from "./job-world.ts";

export interface Place {
  url: string;
  key: string;
}

/** What the follower knows, by `resource/id`: the status, or undefined for resources without one. */
export type Fold = Map<string, string | undefined>;

const LISTS = {
  pods: "/v2/pods",
  clusters: "/v2/clusters",
  serverless: "/v2/serverless",
  templates: "/v2/templates",
  "network-volumes": "/v2/network-volumes",
  registries: "/v2/registries",
  secrets: "/v2/account/secrets",
} as const;

type Listed = { id: string; status?: string };

async function read({ url, key }: Place, path: string) {
  const answer = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
}

/** Reads every list of the account, page by page. */
export async function readLists(place: Place): Promise<Fold> {
  const fold: Fold = new Map();
  for (const [resource, path] of Object.entries(LISTS)) {
    for (let cursor: string | null | undefined = ""; cursor !== null; ) {
      const page = await read(place, `${path}?limit=100${cursor ? `&cursor=${cursor}` : ""}`);
      const items = Object.values(page).find(Array.isArray) as Listed[];
      for (const { id, status } of items) fold.set(`${resource}/${id}`, resource === "pods" ? status : undefined);
      cursor = (page.pagination as { nextCursor?: string | null } | undefined)?.nextCursor ?? null;
    }
  }
  return fold;
}

const isListed = (key: string) => Object.keys(LISTS).some((resource) => key.startsWith(`${resource}/`));

export class EventFollower {
  fold: Fold = new Map();
  readonly jobs = new Map<string, AccountEvent["jobs"]>();
  readonly heard: AccountEvent[] = [];
  lastId: string | undefined;
  resets = 0;
  /** Switched off for a key that may not read all lists. */
  readsLists = true;
  #request: ClientRequest | undefined;
  #reading: Promise<void> | undefined;
  #wake = () => {};

  /** Connects, and goes on after the last event it has seen. */
  async connect(place: Place): Promise<number> {
    const headers = {
      authorization: `Bearer ${place.key}`,
      ...(this.lastId !== undefined && { "last-event-id": this.lastId }),
    };
    // The connection is not shared, and ends with the stream.
    this.#request = get(`${place.url}/v2/account/events`, { headers, agent: false });
    const [incoming] = (await once(this.#request, "response")) as [IncomingMessage];
    incoming.on("error", () => undefined);
    if (incoming.statusCode === 200)
      this.#reading = this.#read(place, new Response(Readable.toWeb(incoming) as ReadableStream)).catch(() => {});
    else incoming.resume();
    return incoming.statusCode!;
  }

  async disconnect(): Promise<void> {
    this.#request?.destroy();
    await this.#reading;
  }

  /** Resolves once it has heard a matching event. */
  async hears(isIt: (event: AccountEvent) => boolean): Promise<AccountEvent> {
    for (;;) {
      const found = this.heard.find(isIt);
      if (found) return found;
      await this.more();
    }
  }

  /** Resolves at the next event. */
  more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  async #read(place: Place, answer: Response): Promise<void> {
    for await (const { id, data } of eventsOf(answer)) {
      const event = JSON.parse(data) as AccountEvent;
      if (event.type === "reset") {
        this.resets++;
        if (this.readsLists) this.fold = await readLists(place);
      } else this.#apply(event);
      this.lastId = id ?? this.lastId;
      this.heard.push(event);
      this.#wake();
    }
  }

  #apply({ type, resource, id, status, endpointId, jobs }: AccountEvent): void {
    if (type === "jobs") this.jobs.set(endpointId!, jobs);
    const key = `${resource}/${id}`;
    if (!isListed(key)) return;
    if (type === "changed") this.fold.set(key, status);
    if (type === "removed") this.fold.delete(key);
  }
}
