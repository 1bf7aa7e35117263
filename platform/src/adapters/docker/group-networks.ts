/** Groups of containers: a network of the engine for each, without a way out, on which members find each other by name. */
import { createHash } from "node:crypto";
import { networkInterfaces } from "node:os";
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import { overlap, parseSubnet } from "../../kernel/subnet.ts";
import { type InstanceSpec, StartRefused } from "../../ports/compute/compute.ts";
import { checkFellows, checkMembership, groupKey, type Membership, RangeTaken } from "../../ports/compute/groups.ts";
import { type Container, groupNetworkName, type Labels, label } from "./container.ts";
import { Containers } from "./containers.ts";
import type { Engine } from "./engine.ts";
import { type EngineApi, EngineRefused, isConflict } from "./engine-api.ts";

/** With which the bridges of an installation's groups begin; Linux allows 15 characters for the whole name. */
export const groupBridges = (installation: string) =>
  `mg${createHash("sha256").update(installation).digest("hex").slice(0, 8)}`;

export const PODMAN = "with Podman a group cannot be kept apart from anybody else: use Docker";

/** The engine joins it after the network of all containers. */
export const GROUP_INTERFACE = "eth1";

export class GroupNetworks {
  readonly #engine: Engine;
  readonly #installation: string;
  /** Nobody comes while another goes: the last one takes the network with him. */
  readonly #turns = new OneAtATime();

  constructor({ engine, installation }: { engine: Engine; installation: string }) {
    this.#engine = engine;
    this.#installation = installation;
  }

  /** Makes the container of a member, whose labels say which group is its own, and before it the group's network. */
  make({ account, group }: InstanceSpec, id: string, create: () => Promise<void>): Promise<void> {
    if (!group) return create();
    return this.#turns.run(async () => {
      const { api, podman } = await this.#engine.find();
      if (podman) throw new StartRefused(PODMAN, { reason: "network-unavailable" });
      checkMembership(group);
      const key = groupKey(account, group);
      checkFellows(group, await this.#fellows(api, key, id));
      await this.#ensure(api, key, group);
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
      const filters = { label: [`${label.installation}=${this.#installation}`, label.group] };
      const networks = await api.call<{ Labels: Labels }[]>("GET", "/networks", { query: { filters } });
      for (const { Labels } of networks) await this.#removeIfEmpty(api, Labels[label.group]!);
    });
  }

  /** The other members, whether they run or not. */
  async #fellows(api: EngineApi, key: string, id: string): Promise<Membership[]> {
    const others = (await this.#members(api, key)).filter((labels) => labels[label.instance] !== id);
    return others.map(membershipOf);
  }

  async #members(api: EngineApi, key: string): Promise<Labels[]> {
    const listed = await new Containers(api, this.#installation).list();
    return listed.map(({ Labels }) => Labels).filter((labels) => labels[label.group] === key);
  }

  async #ensure(api: EngineApi, key: string, { at }: Membership): Promise<void> {
    const bridge = `${groupBridges(this.#installation)}${key.slice(0, 5)}`;
    if (at && isUsedHere(at.range, bridge)) throw new RangeTaken(at.range);
    const body = {
      Name: groupNetworkName(this.#installation, key),
      CheckDuplicate: true,
      Driver: "bridge",
      Internal: true,
      Options: { "com.docker.network.bridge.name": bridge },
      Labels: { [label.installation]: this.#installation, [label.group]: key },
      ...(at && { IPAM: { Config: [{ Subnet: at.range }] } }),
    };
    try {
      await api.call("POST", "/networks/create", { body });
    } catch (error) {
      if (isConflict(error)) return;
      if (!(error instanceof EngineRefused)) throw error;
      if (at && isOverlap(error)) throw new RangeTaken(at.range, error);
      throw new StartRefused(`the network of the group cannot be made: ${error.message}`, {
        cause: error,
        reason: "network-unavailable",
      });
    }
  }

  async #removeIfEmpty(api: EngineApi, key: string): Promise<void> {
    if ((await this.#members(api, key)).length > 0) return;
    await api.call("DELETE", `/networks/${groupNetworkName(this.#installation, key)}`).catch((error) => {
      // Gone already, or somebody put a container of his own there: the next sweep tries again.
      if (!(error instanceof EngineRefused)) throw error;
    });
  }
}

function membershipOf(labels: Labels): Membership {
  const { [label.groupName]: name, [label.groupRange]: range, [label.groupAddress]: address } = labels;
  return { id: labels[label.group]!, name: name!, ...(range && address && { at: { range, address } }) };
}

/** The engine looks at its own networks alone. */
function isUsedHere(range: string, own: string): boolean {
  const others = Object.entries(networkInterfaces()).filter(([name]) => name !== own);
  const ranges = others.flatMap(([, all = []]) => all.flatMap(({ cidr, family }) => (family === "IPv4" && cidr) || []));
  return ranges.some((one) => overlap(parseSubnet(one)!, parseSubnet(range)!));
}

/** The engine's own words: it has no code for it. */
const isOverlap = ({ message }: EngineRefused) => /overlap/i.test(message);
