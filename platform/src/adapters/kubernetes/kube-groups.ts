/** Groups of Pods: a network policy for each, reserved names as config maps, and the members' names in each member's hosts file. */
import { type Clock, sleep } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import { OneAtATimeEach } from "../../kernel/one-at-a-time.ts";
import type { InstanceSpec } from "../../ports/compute/compute.ts";
import {
  checkAsk,
  checkFellows,
  checkMembership,
  checkReserved,
  hasMembers,
  hostIn,
  type Network,
  type NetworkAsk,
  type NetworkName,
  type Networks,
  type ReservedNetwork,
  toldOf,
} from "../../ports/compute/groups.ts";
import { isConflict, isNotFound, type KubeApi, unlessNotFound } from "./kube-api.ts";
import { type ConfigMap, hashOf, type KubeList, label, NAMES, type Pod } from "./kube-objects.ts";
import { groupLabel, memberHost, networkName, networkService } from "./manifest.ts";
import type { Places } from "./places.ts";
import type { PodExec } from "./pod-exec.ts";
import { instanceOf, listOf, mainOf, noteOf } from "./pod-state.ts";
import { groupPolicy, groupPolicyName } from "./policies.ts";

export interface GroupParts {
  api: KubeApi;
  clock: Clock;
  installation: string;
  places: Places;
  /** All Pods of the installation. */
  pods: () => Pod[];
  exec: PodExec;
  failed: (error: unknown) => void;
}

const TRIES = 5;
const RETRY_MS = 1_000;

export class KubeGroups implements Networks {
  readonly #parts: GroupParts;
  readonly #changes = new OneAtATimeEach();
  readonly #pushes = new OneAtATimeEach();
  /** The hosts file that each member has, by the Pod's uid. */
  readonly #written = new Map<string, string>();

  constructor(parts: GroupParts) {
    this.#parts = parts;
  }

  interfaceOf(): string {
    return "eth0";
  }

  #members(key: string): Pod[] {
    return this.#parts.pods().filter(({ metadata }) => metadata.labels?.[label.group] === key);
  }

  /** Runs `make` with the members that run now, once it is sure that the instance may be one. */
  async join<T>(
    id: string,
    spec: InstanceSpec,
    make: (fellows: { address: string; names: string[] }[]) => Promise<T>,
  ): Promise<T> {
    const { account, group } = spec;
    if (!group) return make([]);
    checkMembership(group);
    const key = groupLabel(account, group.id);
    return this.#changes.run(key, async () => {
      const network = group.isReserved ? await this.#find(account, group.id) : undefined;
      checkReserved(group, network);
      if (network) hostIn(network, group.name);
      const members = this.#members(key).filter(({ metadata }) => metadata.labels?.[label.instance] !== id);
      checkFellows(
        group,
        members.map((pod) => ({ name: noteOf(pod, "groupName") ?? "" })),
      );
      const namespace = this.#parts.places.of(account);
      const policy = groupPolicy({ ...this.#parts, namespace }, key);
      await this.#create(`/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`, policy);
      try {
        return await make(this.#present(key, members));
      } catch (error) {
        await this.#leave(key, namespace);
        throw error;
      }
    });
  }

  #present(key: string, members: readonly Pod[]): { address: string; names: string[] }[] {
    return members.flatMap((pod) => {
      const { address } = instanceOf(pod);
      const name = noteOf(pod, "groupName")!;
      return address === undefined
        ? []
        : [{ address, names: [name, ...listOf(pod, "groupFullNames"), memberHost(key, name)] }];
    });
  }

  async #create(path: string, body: unknown): Promise<void> {
    await this.#parts.api.call("POST", path, { body }).catch((error) => {
      if (!isConflict(error)) throw error;
    });
  }

  /** Called when a member began, ended or is gone: the others learn its name or forget it. */
  changed(pod: Pod): void {
    const key = pod.metadata.labels?.[label.group];
    if (key !== undefined)
      floating(
        this.#pushes.run(key, () => this.#push(key)),
        this.#parts.failed,
      );
  }

  async #push(key: string): Promise<void> {
    const members = this.#members(key);
    const present = this.#present(key, members);
    const running = members.filter((pod) => mainOf(pod)?.state.running && pod.metadata.deletionTimestamp === undefined);
    await Promise.all(running.map((pod) => this.#write(pod, hostsText(pod, present))));
  }

  async #write(pod: Pod, text: string): Promise<void> {
    const uid = pod.metadata.uid!;
    if (this.#written.get(uid) === text) return;
    for (let tries = 1; ; tries++) {
      try {
        const code = await this.#parts.exec.quiet(pod, NAMES, 'printf %s "$1" > /etc/hosts', text);
        if (code !== 0) throw new Error(`the names of a group could not be written in ${pod.metadata.name}`);
        this.#written.set(uid, text);
        return;
      } catch (error) {
        const now = this.#parts.pods().find(({ metadata }) => metadata.uid === uid);
        if (!now || instanceOf(now).state !== "running" || isNotFound(error)) return;
        if (tries >= TRIES) throw error;
        await sleep(this.#parts.clock, RETRY_MS);
      }
    }
  }

  /** The last member is gone: nothing is left of a group that nobody reserved. */
  async removed(pod: Pod): Promise<void> {
    this.#written.delete(pod.metadata.uid ?? "");
    const key = pod.metadata.labels?.[label.group];
    if (key !== undefined) await this.#changes.run(key, () => this.#leave(key, pod.metadata.namespace!));
  }

  async #leave(key: string, namespace: string): Promise<void> {
    if (this.#members(key).length > 0) return;
    const path = `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies/${groupPolicyName(key)}`;
    await this.#parts.api.call("DELETE", path).catch(unlessNotFound);
  }

  reserve(ask: NetworkAsk): Promise<Network> {
    const { account, id, names } = ask;
    return this.#changes.run(groupLabel(account, id), async () => {
      checkAsk(ask);
      const known = await this.#find(account, id);
      if (known) return toldOf(known, names);
      const key = groupLabel(account, id);
      if (this.#members(key).length > 0) throw hasMembers(id);
      const namespace = this.#parts.places.of(account);
      await this.#parts.places.ensure(namespace);
      const core = `/api/v1/namespaces/${namespace}`;
      // Before the names: once those are there, the network is whole.
      await this.#create(`${core}/services`, networkService(key, { ...this.#parts, namespace }));
      await this.#create(`${core}/configmaps`, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: {
          name: this.#mapName(key),
          labels: { [label.installation]: this.#parts.installation, [label.group]: key },
        },
        data: { account, id, names: JSON.stringify(names) },
      });
      return toldOf((await this.#find(account, id))!, names);
    });
  }

  #mapName(key: string): string {
    return `millrace-network-${hashOf(`${this.#parts.installation}/${key}`)}`;
  }

  async #find(account: string, id: string): Promise<ReservedNetwork | undefined> {
    const { api, places } = this.#parts;
    const key = groupLabel(account, id);
    const path = `/api/v1/namespaces/${places.of(account)}/configmaps/${this.#mapName(key)}`;
    const found = await api.call<ConfigMap>("GET", path).catch(unlessNotFound);
    if (!found?.data) return undefined;
    const names = JSON.parse(found.data.names!) as string[];
    return { account, id, names, hosts: names.map((name) => memberHost(key, name)) };
  }

  async list(): Promise<NetworkName[]> {
    const { api, places, installation } = this.#parts;
    const query = { labelSelector: `${label.installation}=${installation},${label.group}` };
    const { items } = await api.call<KubeList<ConfigMap>>("GET", places.everywhere("/api/v1", "configmaps"), { query });
    return items.map(({ data }) => ({ account: data!.account!, id: data!.id! }));
  }

  release({ account, id }: NetworkName): Promise<void> {
    const { api, places } = this.#parts;
    const key = groupLabel(account, id);
    return this.#changes.run(key, async () => {
      if (this.#members(key).length > 0) return;
      const core = `/api/v1/namespaces/${places.of(account)}`;
      await api.call("DELETE", `${core}/services/${networkName(key)}`).catch(unlessNotFound);
      await api.call("DELETE", `${core}/configmaps/${this.#mapName(key)}`).catch(unlessNotFound);
    });
  }
}

/** What the node itself writes there, and the members of the group. */
function hostsText(
  { metadata, status }: Pod,
  members: readonly { address: string; names: readonly string[] }[],
): string {
  const own = ["127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback", `${status?.podIP} ${metadata.name}`];
  return `${[...own, ...members.map(({ address, names }) => `${address} ${names.join(" ")}`)].join("\n")}\n`;
}
