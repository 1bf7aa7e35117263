/** The network of an installation's containers: a bridge of its own, on which containers reach the server but not each other. */
import { createHash } from "node:crypto";
import type { Log } from "../../kernel/log.ts";
import { label } from "./container.ts";
import { type EngineApi, EngineRefused, isConflict, isNotFound } from "./engine-api.ts";

const BRIDGE_NAME = "com.docker.network.bridge.name";
const AMONG_EACH_OTHER = "com.docker.network.bridge.enable_icc";

interface Network {
  Id: string;
  Options?: Record<string, string>;
  IPAM: { Config?: Addresses[] };
}

/** The addresses of a network. The machine itself has the gateway's address. */
export interface Addresses {
  Subnet?: string;
  Gateway?: string;
}

export interface FoundNetwork {
  addresses: Required<Addresses>;
  /** The machine's interface on the network. It is wrong only if the engine chose another name and does not report it. */
  bridge: string;
  /** Whether the engine keeps the network's containers apart from each other. */
  isApart: boolean;
}

export const networkName = (installation: string) => `millrace-${installation}`;

/** The name is always the same for an installation, so an operator can write firewall rules for it. Linux allows 15 characters. */
export const bridgeName = (installation: string) =>
  `mr-${createHash("sha256").update(installation).digest("hex").slice(0, 12)}`;

export interface NetworkOptions {
  installation: string;
  /** The addresses that the network had before somebody removed it. The server still listens there. */
  before: Addresses | undefined;
  log: Log;
}

export async function ensureNetwork(api: EngineApi, options: NetworkOptions): Promise<FoundNetwork> {
  const name = networkName(options.installation);
  const found = await findNetwork(api, options.installation);
  if (found) return found;
  await make(api, options);
  const made = await findNetwork(api, options.installation);
  if (!made) throw new Error(`the network ${name} has no gateway`);
  return made;
}

export async function findNetwork(api: EngineApi, installation: string): Promise<FoundNetwork | undefined> {
  const network = await look(api, networkName(installation));
  const addresses = network?.IPAM.Config?.find(({ Gateway, Subnet }) => Gateway?.includes(".") && Subnet);
  if (!network || !addresses) return undefined;
  const { Subnet, Gateway } = addresses as Required<Addresses>;
  return {
    addresses: { Subnet, Gateway: Gateway.split("/")[0]! },
    bridge: bridgeOf(network),
    isApart: isApart(network),
  };
}

const isApart = ({ Options }: Network) => Options?.[AMONG_EACH_OTHER] === "false";

/** Docker names a bridge after its network's id unless it is given a name. */
const bridgeOf = ({ Id, Options }: Network) => Options?.[BRIDGE_NAME] ?? `br-${Id.slice(0, 12)}`;

async function look(api: EngineApi, name: string): Promise<Network | undefined> {
  try {
    return await api.call<Network>("GET", `/networks/${name}`);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function make(api: EngineApi, { installation, before, log }: NetworkOptions): Promise<void> {
  const named = { [BRIDGE_NAME]: bridgeName(installation) };
  const apart = {
    [AMONG_EACH_OTHER]: "false",
    ...named,
  };
  const wanted = {
    Name: networkName(installation),
    CheckDuplicate: true,
    Driver: "bridge",
    Labels: { [label.installation]: installation },
  };
  // From the best form to what any engine accepts. The old addresses may be taken by now, Docker cannot keep containers apart on a kernel
  // without br_netfilter, and older Podman versions do not know these options.
  const attempts = [
    ...(before ? [{ ...wanted, Options: apart, IPAM: { Config: [before] } }] : []),
    { ...wanted, Options: apart },
    { ...wanted, Options: named },
    wanted,
  ];
  for (const body of attempts) {
    try {
      return await api.call("POST", "/networks/create", { body });
    } catch (error) {
      if (!(error instanceof EngineRefused)) throw error;
      if (isConflict(error)) return;
      log.warn({ reason: error.message }, "the network of the containers cannot be made as it should be");
    }
  }
}
