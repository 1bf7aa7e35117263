/** What a verb finds around it: the environment, the streams, the clock and the wish to stop. Tests give their own. */
import type { Clock } from "@millrace/platform/kernel/clock.ts";

/** The variables that verbs read. */
export interface Environment {
  MILLRACE_URL?: string | undefined;
  MILLRACE_API_KEY?: string | undefined;
  MILLRACE_PROFILE?: string | undefined;
  MILLRACE_DATA?: string | undefined;
  MILLRACE_DATABASE_URL?: string | undefined;
  MILLRACE_DATABASE_URL_FILE?: string | undefined;
  AWS_ACCESS_KEY_ID?: string | undefined;
  AWS_SECRET_ACCESS_KEY?: string | undefined;
  MILLRACE_INSTALLED_AS?: string | undefined;
  npm_config_registry?: string | undefined;
  MILLRACE_IMPORT_KEY?: string | undefined;
  XDG_CONFIG_HOME?: string | undefined;
  HOME?: string | undefined;
  JOURNAL_STREAM?: string | undefined;
  VIRTUAL_ENV?: string | undefined;
  PATH?: string | undefined;
  TERM?: string | undefined;
  NO_COLOR?: string | undefined;
  DISPLAY?: string | undefined;
  WAYLAND_DISPLAY?: string | undefined;
}

/** The streams of a process that verbs use. */
export interface Streams {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
}

export interface Shell extends Streams {
  env: Environment;
  clock: Clock;
  /** Aborts when the person presses Ctrl-C. Only verbs that clean up or explain something then ask for it. */
  interrupted(): AbortSignal;
  /** Sets the exit status of the process. */
  exit(code: number): void;
}

export function writeLine(to: NodeJS.WritableStream, text: string): void {
  to.write(`${text}\n`);
}
