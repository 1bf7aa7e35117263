/** What a driver knows about images: who put one on its machine, and what a registry says about a reference. It decides nothing. */
import { StartRefused } from "./refusal.ts";

/** The login for a private registry. It is never shown and never logged. */
export interface RegistryCredential {
  username: string;
  password: string;
}

/**
 * `operator`: the operator gave the image this name on the machine, by loading, importing, building or tagging it. `registry`: everything
 * else, on the machine or not. A driver never names what it fetched from a registry.
 */
export type ImageOrigin = "operator" | "registry";

export interface Lookup {
  credential?: RegistryCredential | undefined;
  /** Once this aborts, an answer no longer counts. */
  signal: AbortSignal;
}

/** How much of an image has arrived from its registry. The total covers the layers whose sizes are known so far. */
export interface Arrived {
  bytes: number;
  total: number;
  /** True when the registry has sent everything, and the rest is work for the machine. */
  isAll: boolean;
}

export interface Bringing {
  progress: (line: string) => void;
  /** Called for every piece, so that silence shows that a registry sends nothing. */
  arrived?: ((arrived: Arrived) => void) | undefined;
  credential?: RegistryCredential | undefined;
}

/** The ability to fetch an image before the instance that needs it starts. */
export interface Preparing {
  /**
   * Fetches an exact image to the box where it will run, and reports progress. Does nothing if an image with that name is there. Throws
   * StartRefused.
   */
  prepare(image: string, box: string, bringing: Bringing): Promise<void>;
}

export interface ImageFacts {
  originOf(image: string): Promise<ImageOrigin>;
  /**
   * Asks the registry, which proves that this credential (or, without one, anyone) may pull the image. Resolves with the exact reference,
   * by digest, of the image's present content. It does not fetch the image. Throws ImageDenied, RegistryAway, and StartRefused if there is
   * no such image.
   */
  lookUp(image: string, lookup: Lookup): Promise<string>;
}

/** The registry answered that this credential may not pull the image. */
export class ImageDenied extends StartRefused {
  override readonly reason = "image-denied";
}

/** The registry did not answer, or answered neither yes nor no. */
export class RegistryAway extends Error {}

/** For a driver whose images are the machine's own files. A rule above the driver decides who may run them. */
export const machinesOwn: ImageFacts = {
  originOf: async () => "operator",
  lookUp: async (image) => {
    throw new StartRefused(`'${image}' is in no registry`, { reason: "image-not-found" });
  },
};
