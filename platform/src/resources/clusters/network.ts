/** The network of a cluster: what is asked for, and what its members are told of each other. */
import type { Membership } from "../../ports/compute/groups.ts";
import type { Variables } from "../container/variables.ts";
import type { ClusterSeat } from "../pods/model.ts";

const nodeName = (rank: number) => `node-${rank}`;

/** Of all members, by rank. */
export const memberNames = ({ members }: ClusterSeat): string[] =>
  Array.from({ length: members }, (_, n) => nodeName(n));

export const membershipOf = ({ id, rank }: ClusterSeat): Membership => ({ id, name: nodeName(rank), isReserved: true });

/** What a member is told of the network that was reserved. */
export interface ClusterNetwork {
  /** Where each member is reached, by rank. */
  hosts: readonly string[];
  /** What it sees the network as. */
  link: string;
}

/** Where the members meet, by the convention of those who start distributed programs. */
const PORT = "29500";

/** What programs that run on several machines are started with, under the established names. */
export function clusterVariables({ rank, members, gpusEach }: ClusterSeat, { hosts, link }: ClusterNetwork): Variables {
  const primary = hosts[0]!;
  return {
    PRIMARY_ADDR: primary,
    MASTER_ADDR: primary,
    PRIMARY_PORT: PORT,
    MASTER_PORT: PORT,
    NODE_ADDR: hosts[rank]!,
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
