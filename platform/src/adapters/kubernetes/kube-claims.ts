/** A claim of Kubernetes for each volume, of the storage classes that the operator names. */
import { OneAtATimeEach } from "../../kernel/one-at-a-time.ts";
import { VolumeUsers } from "../../ports/compute/volume-users.ts";
import {
  checkGrowth,
  checkVolume,
  type FoundVolume,
  isVolumeName,
  NO_SHARED,
  notHere,
  refuseIfUsed,
  type Volume,
  VolumeRefused,
  type Volumes,
  type VolumeUsage,
} from "../../ports/compute/volumes.ts";
import { isConflict, type KubeApi, KubeRefused, unlessNotFound } from "./kube-api.ts";
import { type Claim, type KubeList, label, note, quantity } from "./kube-objects.ts";

export interface ClaimParts {
  api: KubeApi;
  installation: string;
  namespace: string;
  /** The class of volumes that one instance uses at a time. Without it, they have the shared class. */
  storageClass?: string | undefined;
  /** The class of volumes that several nodes mount at once. */
  sharedClass?: string | undefined;
  /** Makes the namespace if it is not there. */
  ensure: () => Promise<void>;
}

const GB = 2 ** 30;
/** A claim that is being removed keeps its name for a while. */
const MOST_NAMES = 20;

export class KubeClaims implements Volumes {
  readonly sizes = false;
  readonly shared: boolean;
  readonly users = new VolumeUsers();
  readonly noFiles =
    "On Kubernetes with a claim for each volume, only Pods that mount a volume reach its files: use a Pod's terminal or SSH.";
  readonly #parts: ClaimParts;
  readonly #changes = new OneAtATimeEach();

  constructor(parts: ClaimParts) {
    this.#parts = parts;
    this.shared = parts.sharedClass !== undefined;
  }

  create(volume: Volume): Promise<void> {
    return this.#changes.run(volume.id, async () => {
      checkVolume(volume);
      if (volume.shared && !this.shared) throw new VolumeRefused(NO_SHARED);
      if (await this.#claimOf(volume.id)) return;
      await this.#parts.ensure();
      await this.#make(volume);
    });
  }

  async #make(volume: Volume): Promise<void> {
    for (let number = 1; number <= MOST_NAMES; number++) if (await this.#post(volume, number)) return;
    throw new VolumeRefused(`earlier claims for volume ${volume.id} are still being removed`);
  }

  /** Resolves with false if another claim has the name. */
  async #post(volume: Volume, number: number): Promise<boolean> {
    try {
      await this.#parts.api.call("POST", this.#path(), { body: this.#manifest(volume, number) });
      return true;
    } catch (error) {
      if (!isConflict(error)) throw inWords(error);
      // Another process may have made it a moment ago.
      return (await this.#claimOf(volume.id)) !== undefined;
    }
  }

  #path(name?: string): string {
    const path = `/api/v1/namespaces/${this.#parts.namespace}/persistentvolumeclaims`;
    return name === undefined ? path : `${path}/${name}`;
  }

  #manifest({ id, sizeGb, shared = false }: Volume, number: number) {
    const { installation, storageClass, sharedClass } = this.#parts;
    const isShared = shared || storageClass === undefined;
    return {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        name: `millrace-volume-${id.toLowerCase()}${number === 1 ? "" : `-${number}`}`,
        labels: { [label.installation]: installation, [label.volume]: id },
        annotations: { [note.sizeGb]: String(sizeGb), ...(shared && { [note.shared]: "true" }) },
      },
      spec: {
        accessModes: [isShared ? "ReadWriteMany" : "ReadWriteOnce"],
        storageClassName: isShared ? sharedClass : storageClass,
        resources: { requests: storage(sizeGb) },
      },
    };
  }

  grow(id: string, sizeGb: number): Promise<void> {
    return this.#changes.run(id, async () => {
      const claim = await this.#known(id);
      const volume = foundIn(claim);
      checkGrowth(volume, sizeGb);
      if (volume.sizeGb === sizeGb) return;
      if (!isBound(claim)) return this.#replace(claim, { ...volume, sizeGb });
      const body = {
        metadata: { annotations: { [note.sizeGb]: String(sizeGb) } },
        spec: { resources: { requests: storage(sizeGb) } },
      };
      await this.#parts.api.call("PATCH", this.#path(claim.metadata.name), { body }).catch((error) => {
        throw inWords(error);
      });
    });
  }

  /** Kubernetes changes no claim that has no storage yet. Nothing is on it, so another takes its place. */
  async #replace(claim: Claim, volume: Volume): Promise<void> {
    await this.#delete(volume.id, claim, (now) => {
      if (isBound(now)) throw new VolumeRefused(`volume ${volume.id} has just got its storage: try again`);
    });
    await this.#make(volume);
  }

  remove(id: string): Promise<void> {
    // Such a name could select other claims.
    if (!isVolumeName(id)) return Promise.resolve();
    return this.#changes.run(id, async () => {
      refuseIfUsed(id, await this.users.of(id));
      // Also what an earlier process marked and had no time to delete.
      const { items } = await this.#list(`${label.volume}=${id}`);
      for (const claim of items) if (claim.metadata.deletionTimestamp === undefined) await this.#delete(id, claim);
    });
  }

  async #delete(id: string, { metadata: { name } }: Claim, judge: (claim: Claim) => void = () => {}): Promise<void> {
    const { api } = this.#parts;
    const mark = (value: string | null) =>
      api.call<Claim>("PATCH", this.#path(name), { body: { metadata: { annotations: { [note.removing]: value } } } });
    // With the mark nobody can mount it any more. An instance that began to mount it earlier is visible by now.
    const now = await mark("true");
    try {
      refuseIfUsed(id, await this.users.of(id));
      judge(now);
    } catch (error) {
      await mark(null);
      throw error;
    }
    await api.call("DELETE", this.#path(name)).catch(unlessNotFound);
  }

  /** Kubernetes counts what is on a claim only while a Pod mounts it, and not for every class. */
  async usage(id: string): Promise<VolumeUsage> {
    return { sizeGb: foundIn(await this.#known(id)).sizeGb };
  }

  async list(): Promise<FoundVolume[]> {
    return (await this.#claims(label.volume)).map(foundIn);
  }

  async find(id: string): Promise<FoundVolume | undefined> {
    const claim = await this.#claimOf(id);
    return claim && foundIn(claim);
  }

  async files(): Promise<undefined> {
    return undefined;
  }

  /** The name of the claim that Pods mount. */
  async nameOf(id: string): Promise<string | undefined> {
    return (await this.#claimOf(id))?.metadata.name;
  }

  async #known(id: string): Promise<Claim> {
    const claim = await this.#claimOf(id);
    if (!claim) throw new VolumeRefused(notHere(id));
    return claim;
  }

  /** The oldest that is not being removed. */
  async #claimOf(id: string): Promise<Claim | undefined> {
    return isVolumeName(id) ? (await this.#claims(`${label.volume}=${id}`))[0] : undefined;
  }

  async #claims(selector: string): Promise<Claim[]> {
    const { items } = await this.#list(selector);
    return items.filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined && metadata.annotations?.[note.removing] === undefined,
    );
  }

  #list(selector: string): Promise<KubeList<Claim>> {
    const labelSelector = `${label.installation}=${this.#parts.installation},${selector}`;
    return this.#parts.api.call<KubeList<Claim>>("GET", this.#path(), { query: { labelSelector } });
  }
}

const isBound = ({ status }: Claim) => status?.phase === "Bound";

/** Rounded up: a claim has whole bytes. */
const storage = (sizeGb: number) => ({ storage: String(Math.ceil(sizeGb * GB)) });

function foundIn({ metadata: { labels, annotations }, spec }: Claim): FoundVolume {
  const sizeGb = Number(annotations?.[note.sizeGb] ?? quantity(spec.resources?.requests?.storage) / GB);
  const isShared = annotations?.[note.shared] === "true";
  return { id: labels![label.volume]!, sizeGb, ...(isShared && { shared: true }), sizeEnforced: false };
}

/** What Kubernetes refuses, such as a class whose volumes cannot grow. */
const inWords = (error: unknown) =>
  error instanceof KubeRefused && [400, 403, 422].includes(error.status)
    ? new VolumeRefused(`Kubernetes refuses it: ${error.message}`, { cause: error })
    : error;
