/** The network of a cluster: what is reserved for it, and what its members learn about each other. */
import type { Membership } from "../../ports/compute/groups.ts";
import type { Variables } from "../container/variables.ts";
import type { ClusterSeat } from "../pods/model.ts";

export const nodeName = (rank: number) => `node-${rank}`;

/** The names of all members, by rank. */
export const memberNames = ({ members }: ClusterSeat): string[] =>
  Array.from({ length: members }, (_, n) => nodeName(n));

export const membershipOf = ({ id, rank }: ClusterSeat): Membership => ({ id, name: nodeName(rank), isReserved: true });

/** What a member learns about the network that was reserved. */
export interface ClusterNetwork {
  /** The address of each member, by rank. */
  hosts: readonly string[];
  /** The name of the network interface as the member sees it. */
  link: string;
}

/** The port where members meet. Launchers of distributed programs use it by convention. */
const PORT = "29500";

/** The variables that distributed programs expect, under their established names. */
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
    // With several GPUs a member runs several processes, each with its own rank. Their launcher sets these then.
    ...(gpusEach === 1 && { RANK: String(rank), LOCAL_RANK: "0" }),
    NCCL_SOCKET_IFNAME: link,
    GLOO_SOCKET_IFNAME: link,
  };
}
