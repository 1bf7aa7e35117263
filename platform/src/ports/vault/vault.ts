/** The vault port: seals text so that only this installation can open it again. */

/** Sealed text. Every part is base64; `master` names the master key that wrapped the data key. */
export interface Sealed extends Record<string, unknown> {
  master: string;
  /** The data key of this one value, wrapped by the master key. */
  key: string;
  data: string;
}

export interface Vault {
  /** `context` names what the text belongs to; the same context is needed to open it. */
  seal(text: string, context: string): Promise<Sealed>;
  open(sealed: Sealed, context: string): Promise<string>;
  /**
   * The same text under the newest master key, or undefined when it already is. The data itself is not touched. Throws
   * UnknownMasterKey when the key that sealed it is not here.
   */
  rewrap(sealed: Sealed): Sealed | undefined;
  /** Names of the master keys, newest first; a name tells nothing of its key. */
  readonly masters: readonly string[];
  /** A key of each master key for one purpose, newest first. A reader of it learns nothing of the master key or of other purposes. */
  keysFor(purpose: string): Uint8Array[];
}

export class UnknownMasterKey extends Error {
  constructor(master: string) {
    super(`the master key '${master}' that sealed this value is not known here`);
  }
}
