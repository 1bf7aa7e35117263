/** How a program ended. */

/** What ended a program, if it did not end by itself. */
export const exitCauses = ["out-of-memory", "filled-disk", "ended-outside"] as const;
export type ExitCause = (typeof exitCauses)[number];

export interface Exit {
  /** Null when a signal ended the program. If only a shell's status is known, 128 + n means signal n. */
  code: number | null;
  signal?: string;
  at: number;
  /** What the driver knows in addition, such as `out of memory: used 512 MB of 512 MB`. */
  reason?: string;
  /** The instance lost its place, because its box was lost or something more important took it. The program did nothing wrong. */
  isLost?: true;
  /** The reason as a code for programs, if it is one of these causes. */
  cause?: ExitCause;
  /** The platform ended it for what it did. If it were started again unchanged, it would do the same. */
  isFinal?: true;
}
