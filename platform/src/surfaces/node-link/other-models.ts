/** Copies of models on machines of other nodes, as sources for copies of this one. */
import { problem } from "../../kernel/problem.ts";
import type { Peer } from "../../machines/machines.ts";
import type { ModelSource } from "../../resources/models/fill.ts";
import { ModelRefused, type Snapshot } from "../../resources/models/snapshot.ts";
import type { NodeCalls } from "./calls.ts";

/** A snapshot has at most 10,000 paths of 1,000 bytes, and most are short. */
const LONGEST_SNAPSHOT = 16 * 2 ** 20;

export interface OtherModelsParts {
  calls: NodeCalls;
  peers: () => Promise<readonly Peer[]>;
}

/** Undefined while the machine's node is away. */
export async function modelElsewhere(
  { calls, peers }: OtherModelsParts,
  model: string,
  machine: string,
): Promise<ModelSource | undefined> {
  const peer = (await peers()).find(({ machines, url }) => machines.includes(machine) && url !== undefined);
  if (!peer) return undefined;
  const asked = { node: peer.id, model, machine };
  let known: Promise<Snapshot> | undefined;
  return {
    snapshot: () => (known ??= snapshotFrom(calls.model(peer, asked))),
    async *read({ path }) {
      const { revision } = await (known ?? Promise.reject(problem("fault", "the snapshot comes first")));
      yield* calls.model(peer, { ...asked, file: { revision, path: path.join("/") } });
    },
  };
}

async function snapshotFrom(chunks: AsyncIterable<Uint8Array>): Promise<Snapshot> {
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > LONGEST_SNAPSHOT) throw new ModelRefused("the other node's list of files is too long");
    read.push(chunk);
  }
  return JSON.parse(Buffer.concat(read).toString("utf8")) as Snapshot;
}
