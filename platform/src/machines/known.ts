/** Lists all nodes and machines on record, silent or not, for the operator. */
import { Collection } from "../ports/store/collection.ts";
import type { Store } from "../ports/store/store.ts";
import { type KeptNode, machines, nodes } from "./nodes.ts";
import type { Machine } from "./place.ts";
import type { Silence, Silences } from "./silences.ts";

export interface KnownNode {
  id: string;
  createdAt: number;
  seenAt: number;
  silence: Silence | undefined;
  /** How far the node's clock was ahead of the database's at its last report. */
  clockAheadMs: number | undefined;
  version: string | undefined;
  url: string | undefined;
  machines: readonly string[];
}

export interface KnownMachine extends Machine {
  createdAt: number;
  /** Empty if an earlier release wrote the record and nobody has written it since. */
  node: string;
  silence: Silence | undefined;
}

export interface Known {
  nodes: KnownNode[];
  machines: KnownMachine[];
}

export interface KnownParts {
  store: Store;
  silences: Silences;
  /** This node and its machines as they are now. */
  self: {
    id: string;
    now: number;
    node: Omit<KeptNode, "seenAt" | "activeAt">;
    machines: ReadonlyMap<string, Machine>;
  };
}

export async function knownIn({ store, silences, self }: KnownParts): Promise<Known> {
  const found = new Map<string, KnownNode>([[self.id, ownNode(self)]]);
  for await (const { id, createdAt, doc } of new Collection(store, nodes).all()) {
    const { seenAt, clockAheadMs, version, url, machines } = doc;
    const silence = silences.look(id, seenAt);
    const known = { id, createdAt, seenAt, silence, clockAheadMs, version, url, machines };
    found.set(id, id === self.id ? { ...ownNode(self), createdAt, clockAheadMs } : known);
  }
  const known: KnownMachine[] = [];
  for await (const { id, createdAt, doc } of new Collection(store, machines).all()) {
    const node = found.get(doc.node);
    // A machine that its node no longer runs counts as gone.
    const isRun = node?.machines.includes(id) === true;
    const unrun: Silence = { since: node?.seenAt ?? createdAt, isGone: true };
    known.push({ ...doc, ...self.machines.get(id), id, createdAt, silence: isRun ? node.silence : unrun });
  }
  return { nodes: [...found.values()], machines: known };
}

function ownNode({ id, now, node }: KnownParts["self"]): KnownNode {
  const { version, url, machines } = node;
  const here = { createdAt: now, seenAt: now, silence: undefined, clockAheadMs: undefined };
  return { id, ...here, version, url, machines };
}
