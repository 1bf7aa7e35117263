/** Groups of containers. Each group has a network of the engine without a way out, on which members find each other by name. */
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
import type { Span, Spanning } from "../../ports/compute/spans.ts";
import { isLink, linkNames } from "../machine/links.ts";
import type { SpanLinks } from "../machine/span-links.ts";
import { type Container, type ContainerPlace, groupNetworkName, type Labels, label } from "./container.ts";
import { Containers } from "./containers.ts";
import type { Engine } from "./engine.ts";
import { type EngineApi, EngineRefused, isConflict, isNotFound } from "./engine-api.ts";

/** The prefix of the bridges of an installation's groups. Linux allows 15 characters for the whole name. */
export const groupBridges = (installation: string) =>
  `mg${createHash("sha256").update(installation).digest("hex").slice(0, 8)}`;

export const PODMAN = "Podman cannot isolate the network of a group: use Docker";

/** The engine attaches a group's network after the network that all containers share. */
const GROUP_INTERFACE = "eth1";

/** A reserved network, with the names of members on other machines. */
type EngineReserved = ReservedNetwork & { elsewhere: readonly string[] };

/** The fields of a network that the driver reads. */
interface EngineNetwork {
  Labels: Labels;
  IPAM?: { Config?: { Subnet?: string }[] | null };
}

export interface GroupNetworksOptions {
  engine: Engine;
  installation: string;
  /** Joins groups to those of other machines. Absent if there are none. */
  spans?: SpanLinks | undefined;
}

/** A member's place in its group. */
export type Seat = Pick<ContainerPlace, "address" | "hosts">;

export class GroupNetworks implements Networks {
  readonly #engine: Engine;
  readonly #installation: string;
  /** Joining and leaving never overlap, since the last member that leaves also removes the network. */
  readonly #turns = new OneAtATime();
  /** Member names of networks that an earlier release made. The labels of those networks do not list them. */
  readonly #namesOfOld = new Map<string, readonly string[]>();

  readonly #spans: SpanLinks | undefined;
  /** Whether the engine's bridges are links of this machine. An engine elsewhere has its own. */
  #isHere = false;

  constructor({ engine, installation, spans }: GroupNetworksOptions) {
    this.#engine = engine;
    this.#installation = installation;
    this.#spans = spans;
  }

  get spanning(): Spanning | undefined {
    return this.#isHere ? this.#spans?.spanning : undefined;
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
      const told = toldOf(await known, ask.names);
      if (ask.span) await this.#join(key, ask.span);
      return told;
    });
  }

  async #join(key: string, { elsewhere: _, ...span }: Span): Promise<void> {
    const bridge = this.#bridgeOf(key);
    if (!this.#spans || !(await isLink(bridge)))
      throw new StartRefused("the engine's networks are not links of this machine, so they share none with others", {
        reason: "network-unavailable",
      });
    await this.#spans.join("container", { ...span, bridge });
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

  /** Creates the group's network and then a member's container, whose labels name the group. */
  make({ account, group }: InstanceSpec, id: string, create: (seat: Seat) => Promise<void>): Promise<void> {
    if (!group) return create({});
    return this.#turns.run(async () => {
      const api = await this.#docker();
      checkMembership(group);
      const key = groupKey(account, group);
      const network = await this.#reserved(api, key);
      checkReserved(group, network);
      checkFellows(group, await this.#fellows(api, key, id));
      if (network) return create({ address: hostIn(network, group.name), hosts: elsewhereIn(network) });
      await this.#create(api, key).catch(asRefusal);
      try {
        await create({});
      } catch (error) {
        await this.#removeIfEmpty(api, key);
        throw error;
      }
    });
  }

  /** Connects a container to its group before it is started, since programs look for each other at once. */
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

  /** Removes the group's network after its last member was removed. */
  async settle(labels: Labels | null): Promise<void> {
    const key = labels?.[label.group];
    if (!key) return;
    await this.#turns.run(async () => this.#removeIfEmpty((await this.#engine.find()).api, key));
  }

  /** Removes networks without members, which a killed server may have left. */
  async sweep(): Promise<void> {
    await this.#turns.run(async () => {
      const { api } = await this.#engine.find();
      if (this.#spans) this.#isHere = await hasBridgesHere(api);
      for (const { Labels } of await this.#networks(api, label.group))
        await this.#removeIfEmpty(api, Labels[label.group]!);
      const spans = (await this.#networks(api, label.groupSpan)).map(({ Labels }) => Number(Labels[label.groupSpan]));
      await this.#spans?.sweep("container", new Set(spans));
    });
  }

  async #docker(): Promise<EngineApi> {
    const { api, podman } = await this.#engine.find();
    if (podman) throw new StartRefused(PODMAN, { reason: "network-unavailable" });
    return api;
  }

  /** The networks of this installation that carry this label. */
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

  #bridgeOf = (key: string) => `${groupBridges(this.#installation)}${key.slice(0, 5)}`;

  async #reserved(api: EngineApi, key: string): Promise<EngineReserved | undefined> {
    const network = await this.#networkOf(api, key);
    const range = network && rangeOf(network);
    if (!network || range === undefined) return undefined;
    const { [label.account]: account = "", [label.groupId]: id = "", [label.groupMembers]: members } = network.Labels;
    const names = members?.split(",") ?? this.#namesOfOld.get(key);
    const elsewhere = network.Labels[label.groupElsewhere]?.split(",") ?? [];
    return names && { account, id, names, range, hosts: addressesIn(range, names.length), elsewhere };
  }

  /**
   * Takes over a network that exists without a reservation. An earlier release made it, and the server chose its members' addresses in the
   * same way as here.
   */
  async #taken(api: EngineApi, key: string, { id, names }: NetworkAsk): Promise<EngineReserved | undefined> {
    const members = await this.#members(api, key);
    if (members.length === 0) {
      await this.#remove(api, key);
      return undefined;
    }
    if (!members.every((labels) => labels[label.groupAddress])) throw hasMembers(id);
    this.#namesOfOld.set(key, names);
    return this.#reserved(api, key);
  }

  async #choose(api: EngineApi, key: string, ask: NetworkAsk): Promise<EngineReserved> {
    const { account, id, names } = ask;
    const labels = {
      ...{ [label.account]: account, [label.groupId]: id, [label.groupMembers]: names.join(",") },
      ...(ask.span && spanLabels(ask.span)),
    };
    for (const range of rangesFor(key, ask)) {
      if (!isFreeOf(range, usedHere())) continue;
      try {
        await this.#create(api, key, { labels, range, mtu: ask.span?.mtu });
        const made = await this.#reserved(api, key);
        if (made) return made;
      } catch (error) {
        if (!isOverlap(error)) return asRefusal(error);
      }
    }
    throw noRangeFree();
  }

  /** The names of the other members, running or not. */
  async #fellows(api: EngineApi, key: string, id: string): Promise<{ name: string }[]> {
    const others = (await this.#members(api, key)).filter((labels) => labels[label.instance] !== id);
    return others.map((labels) => ({ name: labels[label.groupName]! }));
  }

  async #members(api: EngineApi, key: string): Promise<Labels[]> {
    const listed = await new Containers(api, this.#installation).list();
    return listed.map(({ Labels }) => Labels).filter((labels) => labels[label.group] === key);
  }

  /** A network that exists already is no error. */
  async #create(
    api: EngineApi,
    key: string,
    asked?: { labels: Labels; range: string; mtu: number | undefined },
  ): Promise<void> {
    const body = {
      Name: this.#nameOf(key),
      CheckDuplicate: true,
      Driver: "bridge",
      Internal: true,
      Options: {
        "com.docker.network.bridge.name": this.#bridgeOf(key),
        ...(asked?.mtu && { "com.docker.network.driver.mtu": String(asked.mtu) }),
      },
      Labels: { [label.installation]: this.#installation, [label.group]: key, ...asked?.labels },
      ...(asked && { IPAM: { Config: [{ Subnet: asked.range }] } }),
    };
    await api.call("POST", "/networks/create", { body }).catch((error) => {
      if (!isConflict(error)) throw error;
    });
  }

  /** A reserved network stays even without members. */
  async #removeIfEmpty(api: EngineApi, key: string): Promise<void> {
    if ((await this.#members(api, key)).length > 0) return;
    const network = await this.#networkOf(api, key);
    if (network && network.Labels[label.groupMembers] === undefined) await this.#remove(api, key);
  }

  async #remove(api: EngineApi, key: string): Promise<void> {
    this.#namesOfOld.delete(key);
    const number = this.#spans && (await this.#networkOf(api, key))?.Labels[label.groupSpan];
    if (number) await this.#spans?.leave("container", Number(number));
    await api.call("DELETE", `/networks/${this.#nameOf(key)}`).catch((error) => {
      // The network is gone already, or it holds a container that is not ours. In the second case the next sweep tries again.
      if (!(error instanceof EngineRefused)) throw error;
    });
  }
}

/** An engine in a virtual machine, or one that this server reaches from inside a container, has bridges that are not seen here. */
async function hasBridgesHere(api: EngineApi): Promise<boolean> {
  const query = { filters: { driver: ["bridge"] } };
  const all = await api.call<{ Id: string; Options: Labels | null }[]>("GET", "/networks", { query });
  const links = await linkNames();
  const bridges = all.map(({ Id, Options }) => Options?.["com.docker.network.bridge.name"] ?? `br-${Id.slice(0, 12)}`);
  return bridges.length === 0 || bridges.some((name) => links.has(name));
}

const spanLabels = ({ number, elsewhere }: Span): Labels => ({
  [label.groupSpan]: String(number),
  [label.groupElsewhere]: elsewhere.join(","),
});

/** The engine tells names only of containers that it runs itself. */
const elsewhereIn = (network: EngineReserved): string[] =>
  network.elsewhere.map((name) => `${name}:${hostIn(network, name)}`);

const rangeOf = ({ IPAM }: EngineNetwork): string | undefined => IPAM?.Config?.[0]?.Subnet;

/** The IPv4 networks of this machine. The engine itself only avoids its own networks. */
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

/** Recognized by the engine's message, since it has no code for an overlap. */
const isOverlap = (error: unknown) => error instanceof EngineRefused && /overlap/i.test(error.message);
