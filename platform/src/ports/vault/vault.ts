/** The vault port: seals text so that only this installation can open it again. */

/** Sealed text. Every part is base64; `master` names the master key that wrapped the data key. */
export interface Sealed extends Record<string, unknown> {
  master: string;
  /** The data key of this one value, wrapped by the master key. */
  key: string;
  data: string;
}

export interface Vault {
  /** `context` names what the text belongs to. Opening it needs the same context. */
  seal(text: string, context: string): Promise<Sealed>;
  open(sealed: Sealed, context: string): Promise<string>;
  /**
   * Returns the same text under the newest master key, or undefined if it already is. The sealed data itself stays unchanged. Throws
   * UnknownMasterKey when the key that sealed it is missing.
   */
  rewrap(sealed: Sealed): Sealed | undefined;
  /** The names of the master keys, newest first. A name reveals nothing about its key. */
  readonly masters: readonly string[];
  /** Returns one key per master key for this purpose, newest first. It reveals nothing about the master key or other purposes. */
  keysFor(purpose: string): Uint8Array[];
}

export class UnknownMasterKey extends Error {
  constructor(master: string) {
    super(`the master key '${master}' that sealed this value is not known here`);
  }
}
