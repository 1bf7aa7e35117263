/** What a driver knows of images: who put one on its machine, and what a registry says of a reference. It decides nothing. */
import { StartRefused } from "./refusal.ts";

/** Opens a private registry. Never shown and never logged. */
export interface RegistryCredential {
  username: string;
  password: string;
}

/**
 * `operator`: it has this name on the machine because the operator gave it that, by loading, importing, building or naming it.
 * `registry`: everything else, be it here or not; no driver ever gives a name to what it brought from a registry.
 */
export type ImageOrigin = "operator" | "registry";

export interface Lookup {
  credential?: RegistryCredential | undefined;
  /** No answer counts any more once this aborts. */
  signal: AbortSignal;
}

/** What of an image came from its registry; the total is that of the layers whose sizes are known by now. */
export interface Arrived {
  bytes: number;
  total: number;
  /** The registry has nothing more to send: the rest is work of the machine. */
  isAll: boolean;
}

export interface Bringing {
  progress: (line: string) => void;
  /** Told at every piece: a registry that sends nothing is known by the silence. */
  arrived?: ((arrived: Arrived) => void) | undefined;
  credential?: RegistryCredential | undefined;
}

/** The ability to bring an image before the instance that needs it. */
export interface Preparing {
  /** Brings an exact image to the box where it will run, telling its progress. Nothing to do when one of that name is there. Throws StartRefused. */
  prepare(image: string, box: string, bringing: Bringing): Promise<void>;
}

export interface ImageFacts {
  originOf(image: string): Promise<ImageOrigin>;
  /**
   * Asks the registry, which is the proof that this credential, or anybody where there is none, may pull the image. Resolves with the exact
   * reference, by digest, of what the image is now; nothing is brought yet. Throws ImageDenied, StartRefused where there is no such image,
   * and RegistryAway.
   */
  lookUp(image: string, lookup: Lookup): Promise<string>;
}

/** The registry answered, and does not let this credential pull the image. */
export class ImageDenied extends StartRefused {
  override readonly reason = "image-denied";
}

/** The registry did not answer, or not with yes or no. */
export class RegistryAway extends Error {}

/** Of a driver whose images are the machine's own files: a rule above it says for whom they run. */
export const machinesOwn: ImageFacts = {
  originOf: async () => "operator",
  lookUp: async (image) => {
    throw new StartRefused(`'${image}' is in no registry`, { reason: "image-not-found" });
  },
};
