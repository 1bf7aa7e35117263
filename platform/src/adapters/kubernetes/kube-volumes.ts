/** Volumes of Pods: folders of one storage that all nodes mount, or a claim for each volume. */
import { type Mount, StartRefused } from "../../ports/compute/compute.ts";
import type { VolumeUsers } from "../../ports/compute/volume-users.ts";
import { notHere, outermostFirst, type Volumes } from "../../ports/compute/volumes.ts";
import type { VolumeFolders } from "../machine/volume-folders.ts";
import type { KubeClaims } from "./kube-claims.ts";

/** A volume as a Pod mounts it. */
export interface PodVolume {
  /** Its name in the Pod. Several mounts may be of one. */
  name: string;
  source: Record<string, unknown>;
  path: string;
  subPath?: string;
  readOnly?: boolean;
}

export interface KubeVolumes {
  readonly volumes: Volumes & { readonly users: VolumeUsers };
  /** Refuses mounts of volumes that are not there. */
  mounted(mounts: readonly Mount[]): Promise<PodVolume[]>;
}

/** `source` is the part of a Pod's volume that says where the folder is. */
export const foldersOf = (folders: VolumeFolders, source: Record<string, unknown>): KubeVolumes => ({
  volumes: folders,
  async mounted(mounts) {
    await folders.mounted(mounts);
    return outermostFirst(mounts).map(({ volume, path, readOnly = false }) => ({
      ...{ name: "volumes", source, path, subPath: volume },
      ...(readOnly && { readOnly }),
    }));
  },
});

export const claimsOf = (claims: KubeClaims): KubeVolumes => ({
  volumes: claims,
  mounted: (mounts) =>
    Promise.all(
      outermostFirst(mounts).map(async ({ volume, path, readOnly = false }) => {
        const claimName = await claims.nameOf(volume);
        if (claimName === undefined) throw new StartRefused(notHere(volume), { reason: "volume-missing" });
        const source = { persistentVolumeClaim: { claimName } };
        return { name: claimName, source, path, ...(readOnly && { readOnly }) };
      }),
    ),
});
