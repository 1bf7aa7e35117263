/** The port of listings: a place that describes what can be deployed, read as text. What the text means is decided above. */

export interface TextFile {
  /** Within the source, for messages. */
  path: string;
  text: string;
}

/** One listing as its source has it. */
export interface FoundListing {
  owner: string;
  name: string;
  hub: TextFile;
  tests?: TextFile | undefined;
  readme?: TextFile | undefined;
  /** Another text whenever something of the listing changed, and the same one otherwise. */
  version: string;
  /** What people call this version, such as a tag. Undefined where the source has no names for versions. */
  label?: string | undefined;
  /** When it was last changed. */
  changedAt: number;
  /** The listing's folder on this machine, within the root of its source. Undefined if its programs are not on this machine. */
  folder?: { path: string; root: string } | undefined;
}

/** Something in a source that cannot be used: where it is, and why. */
export interface Fault {
  file: string;
  /** The path of a field in the file, such as `$.config.env[2].key`; empty if it is the whole file. */
  field: string;
  why: string;
}

export interface SourceReading {
  listings: readonly FoundListing[];
  /** The images of listings that name none themselves, by `owner/name`. */
  images?: TextFile | undefined;
  faults: readonly Fault[];
}

export interface ListingSource extends AsyncDisposable {
  readonly kind: "folder" | "git";
  /** Where it is, in words for the operator. */
  readonly place: string;
  /** How often `renew` is worth a try; undefined for a source that is read where it is. */
  readonly renewEveryMs: number | undefined;
  /** Brings the newest state here. If it throws, what was there stays. */
  renew(): Promise<void>;
  /** Reads what is here. Throws if nothing of it can be read. */
  read(): Promise<SourceReading>;
}

/** No source may have more than these, so that no reader has to hold more. */
export const SOURCE_LIMITS = {
  listings: 500,
  fileBytes: 256 * 1024,
  allBytes: 8 * 1024 * 1024,
  faults: 200,
  names: 20_000,
};
