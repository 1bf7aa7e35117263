/** Boots the Pods of one machine: image, storage, key, variables and program, each recorded before the next. */
import type { Clock } from "../../../kernel/clock.ts";
import type { Random } from "../../../kernel/random.ts";
import { because, type Reason } from "../../../kernel/reason.ts";
import type { InstanceLog } from "../../../machines/instance-log.ts";
import type { OwnMachine } from "../../../machines/own-machine.ts";
import type { Beginning, Starter } from "../../../machines/starter.ts";
import { whyLacking } from "../../../ports/compute/abilities.ts";
import { isRepeatable, NEEDS_VOLUME } from "../../../ports/compute/again.ts";
import { type Instance, type InstanceSpec, ONLY_BOX, StartRefused } from "../../../ports/compute/compute.ts";
import { PortTaken } from "../../../ports/compute/publish.ts";
import type { ClusterService } from "../../clusters/service.ts";
import type { Pull, PullAccess } from "../../registries/service.ts";
import type { Reveal } from "../../secrets/placeholders.ts";
import type { KeptPodInstance, PodInstance } from "../instance.ts";
import type { PodKeys } from "../keys.ts";
import { persistentVolume } from "../model.ts";
import type { PodItem, PodRecords } from "../records.ts";
import { podSpec } from "./boot.ts";
import { ClusterNetworks, type ClusterNetworksParts } from "./cluster-networks.ts";
import { PublishedPorts } from "./published-ports.ts";

/** How many chosen ports may turn out to be taken by another program before the boot fails. */
const MOST_STRANGERS = 20;

const NOTHING: ReadonlySet<number> = new Set();

export interface PodBooterParts extends Omit<OwnMachine, "id"> {
  machine: string;
  starter: Starter;
  random: Random;
  podRecords: PodRecords;
  podKeys: PodKeys;
  podLog: InstanceLog<KeptPodInstance>;
  clock: Clock;
  reveal: Reveal;
  /** Finds the current credentials for the registry of an image. By default there are none. */
  accessTo?: (pull: Pull) => Promise<PullAccess>;
  sshKeysOf: (account: string) => Promise<readonly string[]>;
  clusters: Pick<ClusterService, "find" | "learn" | "agree">;
  endsOf: ClusterNetworksParts["endsOf"];
}

export class PodBooter {
  readonly #parts: PodBooterParts;
  readonly #ports: PublishedPorts;
  readonly #networks: ClusterNetworks;
  /** Ports that turned out to be taken, by the instance that was refused for them. */
  readonly #avoid = new Map<string, { ports: Set<number>; tries: number }>();

  constructor(parts: PodBooterParts) {
    this.#parts = parts;
    this.#ports = new PublishedPorts(parts);
    this.#networks = new ClusterNetworks(parts);
  }

  /** Forgets the ports that an instance avoids. */
  forget(instance: string): void {
    this.#avoid.delete(instance);
  }

  /** What the Pod waits for before it can be started, for a member of a cluster on several machines. */
  hindrance(pod: PodItem): Promise<Reason | undefined> {
    return this.#networks.hindrance(pod);
  }

  /** Rejects if the program could not be started. Undefined if nothing was started, because the Pod is not wanted like this any more. */
  async boot(item: PodInstance, pod: PodItem, isOver: () => boolean): Promise<Instance | undefined> {
    const { podLog, accessTo } = this.#parts;
    const { account } = pod;
    const { image, registry } = pod.doc;
    const say = (line: string) => podLog.say(item, line);
    say(`starting ${image}`);
    const hindrance = this.#ports.hindrance(pod);
    if (hindrance !== undefined) say(`its TCP ports are not reached from outside: ${hindrance}`);
    const access = await accessTo?.({ account, image, registry });
    const beginning = { id: item.id, account, image, box: item.doc.box ?? ONLY_BOX, isOver, ...access, say };
    return this.#begin(beginning, item);
  }

  /** Whether another try may help. Only a start shows that another program has a port of the machine; the next try uses another port. */
  isAvoidable(item: PodInstance, error: unknown): boolean {
    if (!(error instanceof PortTaken)) return false;
    const avoid = this.#avoid.get(item.id) ?? { ports: new Set<number>(), tries: 0 };
    this.#avoid.set(item.id, avoid);
    if (avoid.tries++ >= MOST_STRANGERS) return false;
    avoid.ports.add(error.outside);
    this.#parts.podLog.say(item, `${error.message} by somebody else: it gets another one`);
    return true;
  }

  /** Restarts a program on the disk that it had. Throws StartRefused if nothing of it is left. */
  async again(item: PodInstance, pod: PodItem): Promise<Instance> {
    const { podKeys, compute } = this.#parts;
    const issued = await podKeys.issue(item.account, pod.id);
    // A driver that cannot change the variables of an existing container still uses the key of the first boot.
    await podKeys.removeOf(pod.id, [issued.id, item.doc.keyId]);
    await this.#store(pod);
    const spec = await this.#specOf(pod, item, issued.key);
    if (!compute.again) throw new StartRefused(whyLacking(compute, "again"));
    if (!isRepeatable(compute.again, spec)) throw new StartRefused(NEEDS_VOLUME);
    return compute.again.start(item.id, spec);
  }

  async #begin(beginning: Omit<Beginning, "spec">, item: PodInstance): Promise<Instance | undefined> {
    for (;;) {
      try {
        return (await this.#parts.starter.begin({ ...beginning, spec: () => this.#make(item) }))?.instance;
      } catch (error) {
        if (!this.isAvoidable(item, error)) throw error;
      }
    }
  }

  /** The key and the ports are recorded in one commit, before anything runs with them. */
  async #make(item: PodInstance): Promise<InstanceSpec | undefined> {
    const { podKeys, podRecords } = this.#parts;
    const issued = podKeys.issuing(item.account, item.doc.owner);
    const pod = await podRecords.change(item.doc.owner, async (pod, instance) => {
      if (instance?.id !== item.id || instance.doc.state !== "PLACED") return undefined;
      const ports = await this.#ports.reserve(pod, this.#avoid.get(item.id)?.ports ?? NOTHING);
      return {
        move: "boot",
        set: { reason: because("program-starting"), ...ports },
        instance: { move: "keep", set: { keyId: issued.id } },
        also: [issued.write],
      };
    });
    const instance = pod && (await podRecords.instanceOf(pod));
    const isWanted = instance?.id === item.id && instance.doc.state === "PLACED" && instance.doc.keyId === issued.id;
    await podKeys.removeOf(item.doc.owner, [isWanted ? issued.id : (instance?.doc.keyId ?? null)]);
    if (!isWanted || !pod) return undefined;
    await this.#store(pod);
    return this.#specOf(pod, instance, issued.key);
  }

  async #specOf(pod: PodItem, instance: PodInstance, key: string): Promise<InstanceSpec> {
    const { workerUrl, site, reveal, sshKeysOf, podLog } = this.#parts;
    const url = await workerUrl(pod.doc.image);
    const sshKeys = pod.doc.startSsh ? (await sshKeysOf(pod.account)).join("\n") : "";
    const moved = (to: string) => podLog.say(instance, `its cluster has other addresses than before: ${to}`);
    const network = await this.#networks.of(pod, moved);
    return podSpec({ pod, instance, url, key, site, sshKeys, network }, reveal);
  }

  /** Makes sure that the persistent folder exists and has its size. */
  async #store({ id, doc }: PodItem): Promise<void> {
    const { compute } = this.#parts;
    const { persistent } = doc.mounts;
    if (!persistent) return;
    if (!compute.volumes) throw new StartRefused(whyLacking(compute, "volumes"), { reason: "volume-missing" });
    const volume = { id: persistentVolume(id), sizeGb: persistent.size };
    await compute.volumes.create(volume);
    await compute.volumes.grow(volume.id, volume.sizeGb);
  }
}
