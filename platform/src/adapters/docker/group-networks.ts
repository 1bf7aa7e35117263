/** Groups of containers: a network of the engine for each, without a way out, on which members find each other by name. */
import { createHash } from "node:crypto";
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import { type InstanceSpec, StartRefused } from "../../ports/compute/compute.ts";
import { checkMembership, groupKey, type Membership, nameTaken } from "../../ports/compute/groups.ts";
import { type Container, groupNetworkName, type Labels, label } from "./container.ts";
import { Containers } from "./containers.ts";
import type { Engine } from "./engine.ts";
import { type EngineApi, EngineRefused, isConflict } from "./engine-api.ts";

/** With which the bridges of an installation's groups begin; Linux allows 15 characters for the whole name. */
export const groupBridges = (installation: string) =>
  `mg${createHash("sha256").update(installation).digest("hex").slice(0, 8)}`;

const PODMAN = "with Podman a group cannot be kept apart from anybody else: use Docker";

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
      if (podman) throw new StartRefused(PODMAN);
      checkMembership(group);
      const key = groupKey(account, group);
      await this.#checkName(api, key, group, id);
      await this.#ensure(api, key);
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
    const { [label.group]: key, [label.groupName]: name, [label.groupFullNames]: full } = Config.Labels ?? {};
    if (!key) return;
    const network = groupNetworkName(this.#installation, key);
    if (NetworkSettings.Networks[network]) return;
    const { api } = await this.#engine.find();
    const body = { Container: Id, EndpointConfig: { Aliases: [name, ...(full ? full.split(",") : [])] } };
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

  async #checkName(api: EngineApi, key: string, group: Membership, id: string): Promise<void> {
    const members = await this.#members(api, key);
    const isTaken = members.some((labels) => labels[label.groupName] === group.name && labels[label.instance] !== id);
    if (isTaken) throw nameTaken(group);
  }

  async #members(api: EngineApi, key: string): Promise<Labels[]> {
    const listed = await new Containers(api, this.#installation).list();
    return listed.map(({ Labels }) => Labels).filter((labels) => labels[label.group] === key);
  }

  async #ensure(api: EngineApi, key: string): Promise<void> {
    const body = {
      Name: groupNetworkName(this.#installation, key),
      CheckDuplicate: true,
      Driver: "bridge",
      Internal: true,
      Options: { "com.docker.network.bridge.name": `${groupBridges(this.#installation)}${key.slice(0, 5)}` },
      Labels: { [label.installation]: this.#installation, [label.group]: key },
    };
    try {
      await api.call("POST", "/networks/create", { body });
    } catch (error) {
      if (isConflict(error)) return;
      if (!(error instanceof EngineRefused)) throw error;
      throw new StartRefused(`the network of the group cannot be made: ${error.message}`, { cause: error });
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
