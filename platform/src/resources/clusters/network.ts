/** The network of a cluster: which addresses its members have, and what they are told of each other. */
import { createHash } from "node:crypto";
import { addressOf, parseSubnet } from "../../kernel/subnet.ts";
import { FIRST_MEMBER, type Membership } from "../../ports/compute/groups.ts";
import type { Variables } from "../container/variables.ts";
import type { ClusterSeat } from "../pods/model.ts";

const PRIVATE = "10";

/** The first range to try for a cluster, or the next after one that turned out to be somebody's. Each has room for every member. */
export function rangeFor(cluster: string, before?: string): string {
  const [high, low] = createHash("sha256")
    .update(`${cluster}\0${before ?? ""}`)
    .digest();
  return `${PRIVATE}.${high}.${low}.0/24`;
}

/** The same for its whole life, whichever instances it has. */
const addressIn = (range: string, rank: number): string => addressOf(parseSubnet(range)!, FIRST_MEMBER + rank);

const nodeName = (rank: number) => `node-${rank}`;

export const membershipOf = ({ id, rank }: ClusterSeat, range: string): Membership => ({
  id,
  name: nodeName(rank),
  at: { range, address: addressIn(range, rank) },
});

/** Where the members meet, by the convention of those who start distributed programs. */
const PORT = "29500";

/** What programs that run on several machines are started with, under the established names. */
export function clusterVariables(
  { rank, members, gpusEach }: ClusterSeat,
  { range, link }: { range: string; link: string },
): Variables {
  const primary = addressIn(range, 0);
  return {
    PRIMARY_ADDR: primary,
    MASTER_ADDR: primary,
    PRIMARY_PORT: PORT,
    MASTER_PORT: PORT,
    NODE_ADDR: addressIn(range, rank),
    NODE_RANK: String(rank),
    NUM_NODES: String(members),
    NUM_TRAINERS: String(gpusEach),
    HOST_NODE_ADDR: `${primary}:${PORT}`,
    WORLD_SIZE: String(members * gpusEach),
    // Of several processes on a member each has a rank of its own, which who starts them knows.
    ...(gpusEach === 1 && { RANK: String(rank), LOCAL_RANK: "0" }),
    NCCL_SOCKET_IFNAME: link,
    GLOO_SOCKET_IFNAME: link,
  };
}
