/** Adds a worker of a load-balancing endpoint to the rotation, so that it gets requests as soon as it is healthy. */
import { resolveEnv } from "../../secrets/placeholders.ts";
import type { WorkerItem } from "../records.ts";
import type { WorkerHandParts } from "./hand-parts.ts";
import type { Rotation } from "./rotation.ts";

export interface JoiningParts extends Pick<WorkerHandParts, "endpoint" | "reveal"> {
  rotation: Rotation;
}

export async function joinRotation(
  { id, doc }: WorkerItem,
  { endpoint: endpointOf, reveal, rotation }: JoiningParts,
): Promise<void> {
  const endpoint = await endpointOf(doc.owner);
  if (endpoint?.doc.type !== "LOAD_BALANCER") return;
  const env = await resolveEnv(endpoint.account, endpoint.doc.env, reveal);
  rotation.join({ endpoint: endpoint.id, worker: id, env, wasReady: doc.state === "READY" });
}
