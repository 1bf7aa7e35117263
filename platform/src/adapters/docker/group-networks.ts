/** Groups of containers: a network of the engine for each, without a way out, on which members find each other by name. */
import { createHash } from "node:crypto";
import { networkInterfaces } from "node:os";
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import { parseSubnet, type Subnet } from "../../kernel/subnet.ts";
import { type InstanceSpec, StartRefused } from "../../ports/compute/compute.ts";
import {
  checkAsk,
  checkFellows,
  checkMembership,
  checkReserved,
  groupKey,
  hasMembers,
  hostIn,
  type Network,
  type NetworkAsk,
  type NetworkName,
  type Networks,
  noRangeFree,
  type ReservedNetwork,
  toldOf,
} from "../../ports/compute/groups.ts";
import { addressesIn, isFreeOf, rangesFor } from "../../ports/compute/network-ranges.ts";
import { type Container, groupNetworkName, type Labels, label } from "./container.ts";
import { Containers } from "./containers.ts";
import type { Engine } from "./engine.ts";
import { type EngineApi, EngineRefused, isConflict, isNotFound } from "./engine-api.ts";

/** With which the bridges of an installation's groups begin; Linux allows 15 characters for the whole name. */
export const groupBridges = (installation: string) =>
  `mg${createHash("sha256").update(installation).digest("hex").slice(0, 8)}`;

export const PODMAN = "with Podman a group cannot be kept apart from anybody else: use Docker";

/** The engine joins it after the network of all containers. */
const GROUP_INTERFACE = "eth1";

/** What the driver reads of a network. */
interface EngineNetwork {
  Labels: Labels;
  IPAM?: { Config?: { Subnet?: string }[] | null };
}

export class GroupNetworks implements Networks {
  readonly #engine: Engine;
  readonly #installation: string;
  /** Nobody comes while another goes: the last one takes the network with him. */
  readonly #turns = new OneAtATime();
  /** Names of the members of networks that an earlier release made, which do not say them themselves. */
  readonly #namesOfOld = new Map<string, readonly string[]>();

  constructor({ engine, installation }: { engine: Engine; installation: string }) {
    this.#engine = engine;
    this.#installation = installation;
  }

  interfaceOf(): string {
    return GROUP_INTERFACE;
  }

  reserve(ask: NetworkAsk): Promise<Network> {
    return this.#turns.run(async () => {
      const api = await this.#docker();
      checkAsk(ask);
      const key = groupKey(ask.account, ask);
      const known =
        (await this.#reserved(api, key)) ?? (await this.#taken(api, key, ask)) ?? this.#choose(api, key, ask);
      return toldOf(await known, ask.names);
    });
  }

  async list(): Promise<NetworkName[]> {
    const { found: engine } = this.#engine;
    const networks = engine ? await this.#networks(engine.api, label.groupMembers) : [];
    return networks.map(({ Labels }) => ({ account: Labels[label.account]!, id: Labels[label.groupId]! }));
  }

  release({ account, id }: NetworkName): Promise<void> {
    return this.#turns.run(async () => {
      const { api } = await this.#engine.find();
      const key = groupKey(account, { id });
      if ((await this.#members(api, key)).length === 0) await this.#remove(api, key);
    });
  }

  /** Makes the container of a member, whose labels say which group is its own, and before it the group's network. */
  make({ account, group }: InstanceSpec, id: string, create: (address?: string) => Promise<void>): Promise<void> {
    if (!group) return create();
    return this.#turns.run(async () => {
      const api = await this.#docker();
      checkMembership(group);
      const key = groupKey(account, group);
      const network = await this.#reserved(api, key);
      checkReserved(group, network);
      checkFellows(group, await this.#fellows(api, key, id));
      if (network) return create(hostIn(network, group.name));
      await this.#create(api, key).catch(asRefusal);
      try {
        await create();
      } catch (error) {
        await this.#removeIfEmpty(api, key);
        throw error;
      }
    });
  }

  /** Before it is started: programs look for each other at once. */
  async connect({ Id, Config, NetworkSettings }: Container): Promise<void> {
    const labels = Config.Labels ?? {};
    const { [label.group]: key, [label.groupName]: name, [label.groupFullNames]: full } = labels;
    if (!key) return;
    const network = groupNetworkName(this.#installation, key);
    if (NetworkSettings.Networks[network]) return;
    const { api } = await this.#engine.find();
    const address = labels[label.groupAddress];
    const fixed = address ? { IPAMConfig: { IPv4Address: address } } : {};
    const body = { Container: Id, EndpointConfig: { Aliases: [name, ...(full ? full.split(",") : [])], ...fixed } };
    await api.call("POST", `/networks/${network}/connect`, { body });
  }

  /** After a member was removed. */
  async settle(labels: Labels | null): Promise<void> {
    const key = labels?.[label.group];
    if (!key) return;
    await this.#turns.run(async () => this.#removeIfEmpty((await this.#engine.find()).api, key));
  }

  /** Removes networks that a server which was killed left without a member. */
  async sweep(): Promise<void> {
    await this.#turns.run(async () => {
      const { api } = await this.#engine.find();
      for (const { Labels } of await this.#networks(api, label.group))
        await this.#removeIfEmpty(api, Labels[label.group]!);
    });
  }

  async #docker(): Promise<EngineApi> {
    const { api, podman } = await this.#engine.find();
    if (podman) throw new StartRefused(PODMAN, { reason: "network-unavailable" });
    return api;
  }

  /** Those of this installation that have a label. */
  #networks(api: EngineApi, labelled: string): Promise<EngineNetwork[]> {
    const filters = { label: [`${label.installation}=${this.#installation}`, labelled] };
    return api.call("GET", "/networks", { query: { filters } });
  }

  #networkOf(api: EngineApi, key: string): Promise<EngineNetwork | undefined> {
    return api.call<EngineNetwork>("GET", `/networks/${this.#nameOf(key)}`).catch((error) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  }

  #nameOf = (key: string) => groupNetworkName(this.#installation, key);

  async #reserved(api: EngineApi, key: string): Promise<ReservedNetwork | undefined> {
    const network = await this.#networkOf(api, key);
    const range = network && rangeOf(network);
    if (!network || range === undefined) return undefined;
    const { [label.account]: account = "", [label.groupId]: id = "", [label.groupMembers]: members } = network.Labels;
    const names = members?.split(",") ?? this.#namesOfOld.get(key);
    return names && { account, id, names, range, hosts: addressesIn(range, names.length) };
  }

  /** One that is there and was not reserved: an earlier release made it for members whose addresses the server chose, as they are chosen here. */
  async #taken(api: EngineApi, key: string, { id, names }: NetworkAsk): Promise<ReservedNetwork | undefined> {
    const members = await this.#members(api, key);
    if (members.length === 0) {
      await this.#remove(api, key);
      return undefined;
    }
    if (!members.every((labels) => labels[label.groupAddress])) throw hasMembers(id);
    this.#namesOfOld.set(key, names);
    return this.#reserved(api, key);
  }

  async #choose(
    api: EngineApi,
    key: string,
    { account, id, names, range: before }: NetworkAsk,
  ): Promise<ReservedNetwork> {
    const labels = { [label.account]: account, [label.groupId]: id, [label.groupMembers]: names.join(",") };
    for (const range of rangesFor(key, before)) {
      if (!isFreeOf(range, usedHere())) continue;
      try {
        await this.#create(api, key, { labels, range });
        const made = await this.#reserved(api, key);
        if (made) return made;
      } catch (error) {
        if (!isOverlap(error)) return asRefusal(error);
      }
    }
    throw noRangeFree();
  }

  /** The names of the other members, whether they run or not. */
  async #fellows(api: EngineApi, key: string, id: string): Promise<{ name: string }[]> {
    const others = (await this.#members(api, key)).filter((labels) => labels[label.instance] !== id);
    return others.map((labels) => ({ name: labels[label.groupName]! }));
  }

  async #members(api: EngineApi, key: string): Promise<Labels[]> {
    const listed = await new Containers(api, this.#installation).list();
    return listed.map(({ Labels }) => Labels).filter((labels) => labels[label.group] === key);
  }

  /** One that is there already is no error. */
  async #create(api: EngineApi, key: string, asked?: { labels: Labels; range: string }): Promise<void> {
    const body = {
      Name: this.#nameOf(key),
      CheckDuplicate: true,
      Driver: "bridge",
      Internal: true,
      Options: { "com.docker.network.bridge.name": `${groupBridges(this.#installation)}${key.slice(0, 5)}` },
      Labels: { [label.installation]: this.#installation, [label.group]: key, ...asked?.labels },
      ...(asked && { IPAM: { Config: [{ Subnet: asked.range }] } }),
    };
    await api.call("POST", "/networks/create", { body }).catch((error) => {
      if (!isConflict(error)) throw error;
    });
  }

  /** What is reserved stays without members. */
  async #removeIfEmpty(api: EngineApi, key: string): Promise<void> {
    if ((await this.#members(api, key)).length > 0) return;
    const network = await this.#networkOf(api, key);
    if (network && network.Labels[label.groupMembers] === undefined) await this.#remove(api, key);
  }

  async #remove(api: EngineApi, key: string): Promise<void> {
    this.#namesOfOld.delete(key);
    await api.call("DELETE", `/networks/${this.#nameOf(key)}`).catch((error) => {
      // Gone already, or somebody put a container of his own there: the next sweep tries again.
      if (!(error instanceof EngineRefused)) throw error;
    });
  }
}

const rangeOf = ({ IPAM }: EngineNetwork): string | undefined => IPAM?.Config?.[0]?.Subnet;

/** The engine looks at its own networks alone. */
function usedHere(): Subnet[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  return all.flatMap(({ cidr, family }) => (family === "IPv4" && cidr && parseSubnet(cidr)) || []);
}

function asRefusal(error: unknown): never {
  if (!(error instanceof EngineRefused)) throw error;
  throw new StartRefused(`the network of the group cannot be made: ${error.message}`, {
    cause: error,
    reason: "network-unavailable",
  });
}

/** The engine's own words: it has no code for it. */
const isOverlap = (error: unknown) => error instanceof EngineRefused && /overlap/i.test(error.message);
