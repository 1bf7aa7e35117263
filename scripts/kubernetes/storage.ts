/** Makes the volumes that claims of the test cluster ask for: folders of this machine, which is all of its nodes. */
import { mkdirSync, rmSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { isConflict, KubeApi, unlessNotFound } from "../../platform/src/adapters/kubernetes/kube-api.ts";
import type { KubeObject, Quantities } from "../../platform/src/adapters/kubernetes/kube-objects.ts";
import { Followed } from "../../platform/src/adapters/kubernetes/kube-watch.ts";
import { realClock } from "../../platform/src/kernel/clock.ts";

interface Claim extends KubeObject {
  spec: {
    storageClassName?: string;
    accessModes: string[];
    resources: { requests: Quantities };
    volumeName?: string;
  };
  status?: { phase?: string; capacity?: Quantities };
}

interface Volume extends KubeObject {
  spec: { hostPath?: { path: string }; storageClassName?: string; capacity: Quantities };
  status?: { phase?: string };
}

const PROVISIONER = "millrace.test/folders";
const CLASSES = ["millrace-test", "millrace-test-shared"];
const folder = process.argv[2]!;
const api = new KubeApi({ clock: realClock });
const failed = (error: unknown) => console.error(String(error));
const VOLUMES = "/api/v1/persistentvolumes";
const claimPath = ({ metadata: { namespace, name } }: Claim) =>
  `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}`;

const orNot = (error: unknown) => {
  if (!isConflict(error)) failed(error);
};

for (const name of CLASSES) {
  const body = {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name },
    provisioner: PROVISIONER,
    allowVolumeExpansion: true,
  };
  await api.call("POST", "/apis/storage.k8s.io/v1/storageclasses", { body }).catch(orNot);
}

async function claimed(claim: Claim): Promise<void> {
  const { metadata, spec, status } = claim;
  if (!CLASSES.includes(spec.storageClassName ?? "") || metadata.deletionTimestamp) return;
  const capacity = { storage: spec.resources.requests.storage! };
  if (status?.phase === "Pending" && !spec.volumeName) await make(claim, capacity);
  else if (status?.phase === "Bound" && status.capacity?.storage !== capacity.storage) await grow(claim, capacity);
}

async function make({ metadata, spec }: Claim, capacity: Quantities): Promise<void> {
  const name = `folder-${metadata.uid}`;
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  await chmod(path, 0o777);
  const { accessModes, storageClassName } = spec;
  const claimRef = {
    kind: "PersistentVolumeClaim",
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
  };
  const body = {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      capacity,
      accessModes,
      storageClassName,
      claimRef,
      persistentVolumeReclaimPolicy: "Retain",
      hostPath: { path },
    },
  };
  await api.call("POST", VOLUMES, { body }).catch(orNot);
}

async function grow(claim: Claim, capacity: Quantities): Promise<void> {
  await api.call("PATCH", `${VOLUMES}/${claim.spec.volumeName}`, { body: { spec: { capacity } } });
  await api.call("PATCH", `${claimPath(claim)}/status`, { body: { status: { capacity } } });
}

/** A volume whose claim is gone goes with all that it holds. */
async function released({ metadata, spec, status }: Volume): Promise<void> {
  if (status?.phase !== "Released" || !CLASSES.includes(spec.storageClassName ?? "")) return;
  rmSync(spec.hostPath!.path, { recursive: true, force: true });
  await api.call("DELETE", `${VOLUMES}/${metadata.name}`).catch(unlessNotFound);
}

const follow = { api, clock: realClock, failed };
new Followed<Claim>({
  ...follow,
  path: "/api/v1/persistentvolumeclaims",
  heard: (claim, isDeleted) => void (isDeleted || claimed(claim).catch(failed)),
});
new Followed<Volume>({
  ...follow,
  path: VOLUMES,
  heard: (volume, isDeleted) => void (isDeleted || released(volume).catch(failed)),
});
