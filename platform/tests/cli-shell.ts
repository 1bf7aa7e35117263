/** A shell for tests: piped streams, an environment of its own, the real clock, and command lines as a person types them. */
import { PassThrough } from "node:stream";
import type { Environment, Shell } from "../../cli/src/shell.ts";
import { askedFor, verbs } from "../../cli/src/verbs.ts";
import { realClock, turn } from "../src/kernel/clock.ts";

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

export interface Ran {
  status: number;
  out: string;
  err: string;
}

/** Parses words as the program does, in this process. Wrong use and refusals are thrown. */
export async function runWords(shell: Shell, words: readonly string[]): Promise<void> {
  const [asked, inner] = askedFor(words);
  const verb = verbs.find(({ name }) => name === asked);
  if (!verb) throw new Error(`there is no verb '${asked}'`);
  const command = await verb.load(shell, inner);
  const quiet = { writeOut: (text: string) => void shell.stdout.write(text), writeErr: () => {} };
  const prepare = (one: typeof command): void => {
    one.exitOverride().configureOutput(quiet);
    one.commands.forEach(prepare);
  };
  prepare(command);
  await command.parseAsync(["node", ...words]).catch((error: { exitCode?: number; code?: string }) => {
    if (error.code !== "commander.helpDisplayed") throw error;
  });
}

/** A command that goes on while a test looks at what it has written. */
export function startLine(env: Environment, line: string): TestShell & { ended: Promise<Error | undefined> } {
  const test = shellFor(env);
  const ended = runWords(test.shell, wordsIn(line).slice(1)).then(
    () => undefined,
    (error: Error) => error,
  );
  return { ...test, ended };
}

const LONGEST_WAIT_MS = 15_000;

/** Resolves when what was written contains a text. Meanwhile it lets something happen again and again. */
export async function written(read: () => string, text: string, meanwhile: () => unknown = turn): Promise<void> {
  const untilMs = realClock.monotonic() + LONGEST_WAIT_MS;
  while (!read().includes(text)) {
    if (realClock.monotonic() > untilMs) throw new Error(`'${text}' was not written, but: ${read()}`);
    await meanwhile();
  }
}

/** Runs a line such as `millrace pods get $(millrace pods list -q)`. */
export async function runLine(env: Environment, line: string): Promise<Ran> {
  const { shell, out, err, status, stdin } = shellFor(env);
  stdin.end();
  let flat = line;
  for (let inner = innerIn(flat); inner; inner = innerIn(flat))
    flat = flat.replace(inner[0], (await runLine(env, inner[1]!)).out.trim());
  await runWords(shell, wordsIn(flat).slice(1));
  return { status: status(), out: out(), err: err() };
}

/** The first `$(…)` that has no other in it. */
const innerIn = (line: string) => /\$\(([^()]*)\)/.exec(line);

const wordsIn = (line: string) => [...line.matchAll(/'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2]!);
