/** Starts programs without stalling the server: a server with much memory has a small process beside it start them. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { type Program, runToEnd, type Started, startProgram, type Tool } from "./start-program.ts";
import { TOOL_ENVIRONMENT } from "./tools.ts";

const PROGRAM = join(import.meta.dirname, "forker-process.ts");
/** The small process takes 45 MB itself, so a server up to this size starts its programs by itself. */
export const large = { bytes: 256 * 2 ** 20 };

export type Order = { number: number } & ({ program: Program } | { tool: Tool });

export type Answer = { number: number } & (
  | { printed: string }
  | { pid: number }
  | { ended: true }
  | { failed: { message: string; code: string | undefined } }
);

type Done = Extract<Answer, { printed: string } | { pid: number }>;

interface Waiting extends PromiseWithResolvers<Done> {
  /** Called when a program that was started has ended. */
  ended(): void;
}

/**
 * To start a program the system first copies the process with a table of all its memory. That takes 2 ms for a server of 100 MB and 40 ms
 * for one of 700 MB, and the server does nothing else meanwhile.
 */
class Forker {
  #child: ChildProcess | undefined;
  #waiting = new Map<number, Waiting>();
  #asked = 0;
  /** While a caller waits for an answer, the channel keeps this process from ending. */
  #unanswered = 0;

  async start(program: Program): Promise<Started> {
    const end = Promise.withResolvers<void>();
    const { pid } = (await this.#ask({ program }, end.resolve)) as Extract<Done, { pid: number }>;
    return { pid, ended: end.promise };
  }

  async run(tool: Tool): Promise<string> {
    return ((await this.#ask({ tool }, () => {})) as Extract<Done, { printed: string }>).printed;
  }

  async #ask(what: { program: Program } | { tool: Tool }, ended: () => void): Promise<Done> {
    this.#child ??= this.#begin();
    const { channel, connected } = this.#child;
    const number = ++this.#asked;
    const waiting = { ...Promise.withResolvers<Done>(), ended };
    this.#waiting.set(number, waiting);
    this.#unanswered++;
    channel?.ref();
    // A process that could not be started has no channel. Its error gives the reason.
    if (connected) this.#child.send({ number, ...what } satisfies Order);
    try {
      return await waiting.promise;
    } finally {
      if (--this.#unanswered === 0) this.#child?.channel?.unref();
    }
  }

  #begin(): ChildProcess {
    const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", PROGRAM], {
      // Detached, so that signals from a terminal do not reach it: the server still needs it to clean up.
      detached: true,
      cwd: "/",
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      env: TOOL_ENVIRONMENT,
    });
    const waiting = new Map<number, Waiting>();
    this.#waiting = waiting;
    child.on("message", (answer: Answer) => hear(waiting, answer));
    child.on("error", (error) => this.#lost(child, waiting, error));
    child.on("exit", () => this.#lost(child, waiting, new Error("the process that starts programs ended")));
    child.unref();
    child.channel?.unref();
    return child;
  }

  /** The programs that it started go on, and the driver's regular looks find their ends. The next order starts another small process. */
  #lost(child: ChildProcess, waiting: Map<number, Waiting>, error: Error): void {
    if (this.#child === child) this.#child = undefined;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  }
}

function hear(waiting: Map<number, Waiting>, answer: Answer): void {
  const asked = waiting.get(answer.number);
  // A program's entry stays until the program has ended.
  if (!("pid" in answer)) waiting.delete(answer.number);
  if ("ended" in answer) asked?.ended();
  else if ("failed" in answer)
    asked?.reject(Object.assign(new Error(answer.failed.message), { code: answer.failed.code }));
  else asked?.resolve(answer);
}

const beside = new Forker();

const isLarge = () => process.memoryUsage.rss() > large.bytes;

/** Starts a program that outlives this process. */
export const start = (program: Program): Promise<Started> =>
  isLarge() ? beside.start(program) : startProgram(program);

/** Runs a tool to its end and returns its output. Fails with the tool's error output. */
export async function runTool(file: string, args: readonly string[], input?: string): Promise<string> {
  const tool = { file, args, input };
  return isLarge() ? beside.run(tool) : runToEnd(tool);
}
