/** Network volumes: storage of a data center that Pods and workers share, and that outlives them. */
import { volumeTypes } from "../../catalog/words.ts";
import { type Claiming, claimedName } from "../../kernel/claim.ts";
import type { Kept } from "../../kernel/document.ts";
import type { Metering } from "../../kernel/metered.ts";
import { type KeptOf, type RecordOf, resource } from "../../kernel/resource.ts";
import { name, nullable, oneOf, t } from "../../kernel/schema.ts";

const SMALLEST_GB = 10;
const LARGEST_GB = 4096;

export const NetworkVolume = resource("NetworkVolume", {
  assigned: {
    id: t.String({ description: "Unique network volume identifier." }),
    sizeEnforced: t.Boolean({
      description:
        "Whether programs cannot write more than `size`. False where the machine or the shared storage that holds the volume cannot see " +
        "to it, and until its machine has made it.",
    }),
    usedBytes: nullable(
      t.Integer({
        minimum: 0,
        description:
          "How many bytes it holds, counted some minutes ago, or up to an hour ago if no program has it mounted. Null while unknown.",
      }),
    ),
    usedReason: nullable(t.String({ description: "Why `usedBytes` is null; null if it is known." })),
  },
  fixed: {
    dataCenter: name({
      description: "The data center that it is in. It cannot be changed.",
      "x-flat": "dataCenterId",
    }),
    type: t.Optional(
      oneOf(volumeTypes, {
        description: "The storage tier; that which its data center offers first by default. It cannot be changed.",
      }),
    ),
  },
  given: {
    name: name({ description: "Name for people; several volumes may have the same." }),
    size: t.Integer({
      minimum: SMALLEST_GB,
      maximum: LARGEST_GB,
      description: "In GB. It can grow, and never shrinks.",
    }),
  },
  shown: { type: oneOf(volumeTypes) },
});
export type NetworkVolume = RecordOf<typeof NetworkVolume>;

export type KeptNetworkVolume = (KeptOf<typeof NetworkVolume> & Metering & Claiming) & {
  /** The machine that the volume is on, or null for shared storage. */
  machine: string | null;
  /** The size that exists on the machine; absent until the volume was created there. */
  made?: { size: number; sizeEnforced: boolean };
  /** The API key that created the volume, where it is known. */
  createdBy?: string | null;
};

/** A volume that callers no longer see, but whose contents may still be on disk. */
export type KeptRemovedVolume = Pick<KeptNetworkVolume, "machine">;

/** The key `due` lists only volumes that their machine still has to create or grow, so finished volumes are not read again. */
export const networkVolumes: Kept<KeptNetworkVolume> = {
  kind: "network-volume",
  called: "network volume",
  v: 1,
  keysVersion: 2,
  unique: (volume) => ({ name: claimedName(volume) }),
  listed: ({ name, machine, made, size }) => ({ name, due: made?.size === size ? undefined : holderOf(machine) }),
};

export const removedVolumes: Kept<KeptRemovedVolume> = {
  kind: "removed-network-volume",
  v: 1,
  listed: ({ machine }) => ({ due: holderOf(machine) }),
};

/** What a volume was last counted to hold. It is apart from the volume, so that counting never conflicts with a change of it. */
export type KeptVolumeUse = {
  /** Absent if there was too much to count in time. */
  bytes?: number;
};

export const volumeUses: Kept<KeptVolumeUse> = { kind: "network-volume-use", v: 1 };

/** Stands for the shared storage where a machine id is expected. No machine has this id. */
export const SHARED_STORAGE = "*";

export const holderOf = (machine: string | null): string => machine ?? SHARED_STORAGE;
