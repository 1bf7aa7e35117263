/** How a program ended. */

/** What ended a program other than its own will. */
export const exitCauses = ["out-of-memory", "filled-disk", "ended-outside"] as const;
export type ExitCause = (typeof exitCauses)[number];

export interface Exit {
  /** Null when a signal ended the program. Where only a shell's status is known, 128 + n means signal n. */
  code: number | null;
  signal?: string;
  at: number;
  /** What the driver knows beyond that, such as `out of memory: used 512 MB of 512 MB`. */
  reason?: string;
  /** Its place was taken from it, as by the loss of its box or by something more important: the program did nothing wrong. */
  isLost?: true;
  /** The same for programs, where it is one of these. */
  cause?: ExitCause;
  /** The platform ended it for what it did: started as it was, it would do so again. */
  isFinal?: true;
}
