/** The log as the program sees it; the composition root decides where lines go. */

type Write = (fields: object, message: string) => void;

export interface Log {
  info: Write;
  warn: Write;
  error: Write;
}

export const silentLog: Log = { info() {}, warn() {}, error() {} };
