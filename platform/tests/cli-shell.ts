/** A shell for tests: piped streams, an environment of its own, and the real clock. */
import { PassThrough } from "node:stream";
import type { Environment, Shell } from "../../cli/src/shell.ts";
import { realClock } from "../src/kernel/clock.ts";

export interface TestShell {
  shell: Shell;
  stdin: PassThrough;
  /** What was written so far. */
  out(): string;
  err(): string;
  /** The exit status that was set. */
  status(): number;
  interrupt(): void;
}

export function shellFor(env: Environment = {}): TestShell {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const texts = { out: "", err: "" };
  stdout.on("data", (chunk: Buffer) => {
    texts.out += String(chunk);
  });
  stderr.on("data", (chunk: Buffer) => {
    texts.err += String(chunk);
  });
  const stop = new AbortController();
  let status = 0;
  const shell: Shell = {
    ...({ stdin, stdout, stderr } as unknown as Shell),
    // Tests never read the files of the person who runs them.
    env: { HOME: "/nonexistent", MILLRACE_DATA: "/nonexistent", ...env },
    clock: realClock,
    interrupted: () => stop.signal,
    exit(code) {
      status = code;
    },
  };
  return {
    shell,
    stdin,
    out: () => texts.out,
    err: () => texts.err,
    status: () => status,
    interrupt: () => stop.abort(),
  };
}
