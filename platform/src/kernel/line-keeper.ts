/** Keeps lines outside of Millrace, such as in a file. */
export interface LineKeeper {
  /** What it is, for the log. */
  readonly name: string;
  /** Rejects if it could not keep all of them. */
  keep(lines: readonly string[]): Promise<void>;
}
