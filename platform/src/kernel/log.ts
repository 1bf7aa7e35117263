/** The log as the program sees it; the composition root decides where lines go. */

type Write = (fields: object, message: string) => void;

export interface Log {
  info: Write;
  warn: Write;
  error: Write;
  /** For what is of use only while somebody looks for a fault. Absent if nobody ever reads it. */
  debug?: Write;
  /** Whether lines of this level are written now. */
  isLevelEnabled?(level: "debug"): boolean;
}

export const silentLog: Log = { info() {}, warn() {}, error() {} };
