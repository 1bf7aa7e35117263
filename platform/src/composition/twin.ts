/** Refuses to start beside another server with the same node id, which a copied data folder has. */
import type { Clock } from "../kernel/clock.ts";
import { twinText } from "../machines/beat.ts";
import { type KeptNode, nodes } from "../machines/nodes.ts";
import { GONE_AFTER_MS } from "../machines/silences.ts";
import { Collection } from "../ports/store/collection.ts";
import type { Store } from "../ports/store/store.ts";
import { listens } from "./server-address.ts";

/** A server that was killed a moment ago is no twin: nothing listens at its address any more. */
export async function refuseTwin(
  store: Store,
  { id, url: own }: { id: string; url: () => string },
  clock: Clock,
): Promise<void> {
  const { url, seenAt } = (await new Collection<KeptNode>(store, nodes).get(id))?.doc ?? {};
  if (url === undefined || seenAt === undefined || url === own() || clock.now() - seenAt > GONE_AFTER_MS) return;
  if (await listens(new URL(url))) throw new Error(twinText(id, url));
}
