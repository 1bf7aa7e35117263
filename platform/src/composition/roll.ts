/** The machines of this node and of others, how to reach the other nodes, and where requests may go. */
import { Balancer } from "../balancing/balancer.ts";
import type { Drains } from "../machines/drains.ts";
import { Machines } from "../machines/machines.ts";
import { Elsewhere } from "../resources/workers/running/elsewhere.ts";
import { NodeCalls } from "../surfaces/node-link/calls.ts";
import { OtherInstances } from "../surfaces/node-link/other-instances.ts";
import { OtherLogs } from "../surfaces/node-link/other-logs.ts";
import { modelElsewhere } from "../surfaces/node-link/other-models.ts";
import { NodePasses } from "../surfaces/node-link/pass.ts";
import { identityIn } from "./app-parts.ts";
import type { Bells } from "./bells.ts";
import type { Ground } from "./ground.ts";

export type Roll = ReturnType<typeof openRoll>;

export function openRoll(ground: Ground, { drains }: { drains: Drains }, bells: Bells) {
  const { clock, machines: own = [], alone } = ground;
  const balancer = new Balancer({ clock, rose: bells.lacking.ring, changed: bells.loads.ring });
  const passes = new NodePasses(ground);
  const calls = new NodeCalls({ clock, passes });
  const others = new Elsewhere({ balancer, reach: (peer, endpoint, worker) => calls.dial(peer, endpoint, worker) });
  const machines = new Machines({ ...ground, drains, own, heard: (peers) => others.learn(peers) });
  const peers = async () => (await machines.roll()).peers;
  const node = identityIn(ground);
  const here = own.map(({ id }) => id);
  return {
    balancer,
    machines,
    silentSince: machines.silences.since,
    own,
    /** The ids of this node's own machines. */
    here,
    /** A single process without a machine keeps no instances. One of several nodes also plans for the machines of others. */
    isKept: own.length > 0 || !alone,
    machinesThere: async () => (await machines.roll()).machines,
    /** All nodes and machines on record. */
    async known() {
      // This finds out which machines are silent, so it comes first.
      await machines.roll();
      return machines.known();
    },
    peers,
    /** This node's identity and how to reach the others, or undefined if it is the only one. */
    node,
    passes,
    otherLogs: node && new OtherLogs({ here, calls, peers }),
    otherInstances: node && new OtherInstances({ calls, peers }),
    otherModels: node && ((model: string, machine: string) => modelElsewhere({ calls, peers }, model, machine)),
  };
}
