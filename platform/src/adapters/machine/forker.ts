/** Starts programs and tools from a small shell beside the server, since each start from a process with much memory stalls it. */
import { type ChildProcess, spawn } from "node:child_process";
import { fstatSync, readSync } from "node:fs";
import type { Socket } from "node:net";
import { realClock } from "../../kernel/clock.ts";
import { Descriptors } from "./descriptors.ts";
import { childrenOf, inheritedDescriptors, sendSignal } from "./processes.ts";
import { quoted } from "./quoted.ts";
import { type Program, startProgram } from "./start-program.ts";
import { TOOL_ENVIRONMENT } from "./tools.ts";

/** What the shell said about an order: it has opened its files, runs as this process, has ended with this status, or could not begin. */
type Said = { opened: true } | { pid: number } | { status: number } | { failed: true };

interface Order {
  hear(said: Said): void;
  lost(error: Error): void;
}

const LIMIT_MS = 20_000;
const MOST_OUTPUT_BYTES = 16_777_216;
/** The kernel takes no longer word of a command, and not many more bytes in all. */
const LONGEST_WORD_BYTES = 131_071;
const LONGEST_COMMAND_BYTES = 1_900_000;
/**
 * With job control, a shell starts each program in a group of its own, so that a signal to the group reaches nobody else, and with no signal
 * ignored. Some shells have job control only at a terminal.
 */
const JOB_CONTROL = "set -m 2>/dev/null";
/** Two programs do the same where the shell does not: it starts programs with these signals ignored, and programs inherit that. */
const AS_ANY_PROGRAM = ["setsid", "env", "--default-signal=INT,QUIT"];
const GONE = "the process that starts programs ended";

/**
 * To start a program the system first copies the process with a table of all its memory, and every page that is written afterwards is copied
 * too. That takes 5 ms for a server of 100 MB and 40 ms for one of 700 MB, and the server does nothing else meanwhile. The shell has 2 MB.
 */
class Forker {
  #shell: ChildProcess | undefined;
  #orders = new Map<number, Order>();
  #ordered = 0;
  #asAnyProgram: Promise<readonly string[] | undefined> | undefined;

  /** Starts a program that outlives this process. Resolves with its number. */
  async start(program: Program): Promise<number> {
    const { command, cwd, given, name } = program;
    checkLength(command);
    this.#asAnyProgram ??= this.#findHow();
    const before = await this.#asAnyProgram;
    if (!before) return startProgram(program);
    const become = [...before, ...command];
    using files = new Descriptors();
    const inputs = given.map(([fd, what]) => {
      const path = "path" in what ? what.path : ofThisProcess(files.nameless(what.text, what.owner, name));
      return `${fd}<${quoted(path)}`;
    });
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const all: { pid?: number; opened?: true } = {};
    await this.#order(
      // The trap is only run if the program cannot be begun: it goes when this shell becomes the program.
      (number) =>
        `{ trap 'echo ${number} failed' EXIT; exec ${inputs.join(" ")}; echo ${number} opened; exec </dev/null >/dev/null 2>&1; ` +
        `cd -- ${quoted(cwd)} && exec ${become.map(quoted).join(" ")}; } & echo ${number} pid $!`,
      {
        hear(said) {
          if ("failed" in said) reject(new Error("the program's inputs could not be opened"));
          Object.assign(all, said);
          if (all.opened && all.pid !== undefined) resolve(all.pid);
        },
        lost: reject,
      },
      () => promise,
    );
    return promise;
  }

  /** What has to be put before a command. Undefined where this process has to start programs itself: older tools cannot give signals back. */
  async #findHow(): Promise<readonly string[] | undefined> {
    const seen = await this.run("cat", ["/proc/self/stat", "/proc/self/status"]);
    if (seen.status === 0 && isFree(seen.printed, this.#shell?.pid)) return [];
    const [file, ...args] = AS_ANY_PROGRAM;
    return (await this.run(file!, [...args, "true"])).status === 0 ? AS_ANY_PROGRAM : undefined;
  }

  /** Runs a tool to its end. Resolves with its status and what it wrote. */
  async run(file: string, args: readonly string[], input?: string) {
    checkLength([file, ...args]);
    using files = new Descriptors();
    const [out, err] = [files.inMemory(""), files.inMemory("")];
    const from = input === undefined ? "/dev/null" : ofThisProcess(files.inMemory(input));
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    let pid: number | undefined;
    const late = realClock.after(LIMIT_MS, () => pid !== undefined && killBelow(pid));
    try {
      await this.#order(
        (number) =>
          `{ ${[file, ...args].map(quoted).join(" ")} <${from} >${ofThisProcess(out)} 2>${ofThisProcess(err)}; ` +
          `echo ${number} status $?; } 2>/dev/null & echo ${number} pid $!`,
        {
          hear(said) {
            if ("pid" in said) pid = said.pid;
            if ("status" in said) resolve(said.status);
          },
          lost: reject,
        },
        () => promise,
      );
      return { status: await promise, printed: textIn(out), complaint: textIn(err) };
    } finally {
      late.cancel();
    }
  }

  /** Gives the shell an order and waits until that is carried out. */
  async #order(text: (number: number) => string, order: Order, done: () => Promise<unknown>): Promise<void> {
    const shell = this.#shell ?? (await this.#begin());
    const orders = this.#orders;
    const number = ++this.#ordered;
    orders.set(number, order);
    ref(shell);
    // Ended programs of earlier orders are forgotten first. The line is complete, so the shell begins at once.
    shell.stdin!.write(`jobs >/dev/null; ${text(number)}\n`);
    try {
      await done();
    } finally {
      orders.delete(number);
      if (orders.size === 0) unref(shell);
    }
  }

  async #begin(): Promise<ChildProcess> {
    const inherited = await inheritedDescriptors();
    if (this.#shell) return this.#shell;
    using files = new Descriptors();
    const nowhere = files.open("/dev/null", "r");
    const length = Math.max(2, ...inherited) + 1;
    const others = Array.from({ length }, (_, fd) => (inherited.includes(fd) ? nowhere : ("ignore" as const)));
    const shell = spawn("/bin/sh", ["-s", "millrace-forker"], {
      // Detached, so that signals from a terminal do not reach it: the server still needs it to clean up.
      detached: true,
      cwd: "/",
      stdio: ["pipe", "pipe", "inherit", ...others.slice(3)],
      env: TOOL_ENVIRONMENT,
    });
    const orders = new Map<number, Order>();
    this.#orders = orders;
    let rest = "";
    shell.stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) hear(orders, line);
    });
    const lost = (error: Error) => {
      if (this.#shell === shell) this.#shell = undefined;
      for (const order of orders.values()) order.lost(error);
      orders.clear();
    };
    shell.on("error", lost);
    shell.on("exit", () => lost(new Error(GONE)));
    // A shell that ended is reported above.
    shell.stdin?.on("error", () => {});
    if (!shell.stdin) throw Object.assign(new Error("spawn EMFILE"), { code: "EMFILE" });
    this.#shell = shell;
    shell.stdin.write(`${JOB_CONTROL}\n`);
    unref(shell);
    return shell;
  }
}

/** Whether a program that the shell started is in another group than the shell, and ignores no signal. */
function isFree(printed: string, shell: number | undefined): boolean {
  const group = Number(printed.slice(printed.indexOf(")") + 2).split(" ")[2]);
  return group !== shell && /^SigIgn:\t0+$/m.test(printed);
}

/** A server with nothing else to do may end while the shell waits. */
function unref(shell: ChildProcess): void {
  for (const one of [shell, shell.stdin as Socket, shell.stdout as Socket]) one.unref();
}

function ref(shell: ChildProcess): void {
  for (const one of [shell, shell.stdout as Socket]) one.ref();
}

function hear(orders: ReadonlyMap<number, Order>, line: string): void {
  const [number, what, value] = line.split(" ");
  const order = orders.get(Number(number));
  if (what === "pid") order?.hear({ pid: Number(value) });
  if (what === "status") order?.hear({ status: Number(value) });
  if (what === "opened") order?.hear({ opened: true });
  if (what === "failed") order?.hear({ failed: true });
}

/** Another process of this user opens a file of this one like this, although the file has no name. */
const ofThisProcess = (fd: number) => `/proc/${process.pid}/fd/${fd}`;

function checkLength(words: readonly string[]): void {
  const lengths = words.map((word) => Buffer.byteLength(word));
  const isTooLong = lengths.some((length) => length > LONGEST_WORD_BYTES) || sum(lengths) > LONGEST_COMMAND_BYTES;
  if (isTooLong) throw Object.assign(new Error("spawn E2BIG"), { code: "E2BIG" });
  if (words.some((word) => word.includes("\0"))) throw new Error("a command cannot contain a null byte");
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

function textIn(fd: number): string {
  const { size } = fstatSync(fd);
  if (size > MOST_OUTPUT_BYTES) throw new Error(`it wrote more than ${MOST_OUTPUT_BYTES} bytes`);
  const bytes = Buffer.alloc(size);
  return bytes.toString("utf8", 0, size === 0 ? 0 : readSync(fd, bytes, 0, size, 0));
}

function killBelow(pid: number): void {
  childrenOf(pid).then(
    (children) => {
      for (const child of children) sendSignal(child, "SIGKILL");
    },
    () => {},
  );
}

const beside = new Forker();

/** Starts a program that outlives this process. Resolves with its number. */
export const start = (program: Program): Promise<number> => beside.start(program);

/** Runs a tool to its end and returns its output. Fails with the tool's error output. */
export async function runTool(file: string, args: readonly string[], input?: string): Promise<string> {
  const { status, printed, complaint } = await beside.run(file, args, input);
  if (status !== 0) throw new Error(`${file} failed: ${complaint.trim() || `it ended with ${status}`}`);
  return printed;
}
