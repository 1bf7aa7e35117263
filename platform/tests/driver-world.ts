/** A driver in a process of its own, which a test can kill. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type HostWorld, openHost } from "../src/adapters/host/host-world.ts";
import type { InstanceSpec } from "../src/ports/compute/compute.ts";
import type { ExecSpec } from "../src/ports/compute/execution.ts";
import { startChild } from "./child.ts";

/** A driver in a process of its own, on the data folder of the world. */
export class DriverProcess {
  readonly process: ChildProcess;
  readonly #lines: Interface;

  constructor(data: string, watchdogS: number, under: readonly string[] = []) {
    const program = fileURLToPath(new URL("../src/adapters/host/driver-process.ts", import.meta.url));
    const node = [process.execPath, "--disable-warning=ExperimentalWarning", program, data, String(watchdogS)];
    const [file, ...args] = [...under, ...node] as [string, ...string[]];
    this.process = startChild(file, args);
    this.process.once("error", (error) => {
      throw error;
    });
    this.#lines = createInterface({ input: this.process.stdout! });
  }

  /** `under` is a command that runs the driver. */
  static async open(data: string, watchdogS = 60, under: readonly string[] = []): Promise<DriverProcess> {
    const driver = new DriverProcess(data, watchdogS, under);
    await driver.said("open");
    return driver;
  }

  async said(line: string): Promise<void> {
    for await (const [said] of this.#saying()) if (said === line) return;
  }

  async *#saying(): AsyncGenerator<[string]> {
    const over = new AbortController();
    this.process.once("exit", () => over.abort());
    for (;;) yield (await once(this.#lines, "line", { signal: over.signal })) as [string];
  }

  tell(id: string, spec: InstanceSpec): void {
    this.process.stdin!.write(`${JSON.stringify({ id, spec })}\n`);
  }

  /** Starts an instance. Rejects with the driver's message if it refuses. */
  async start(id: string, spec: InstanceSpec): Promise<void> {
    const saying = this.#saying();
    const first = saying.next();
    this.tell(id, spec);
    for (let said = await first; ; said = await saying.next()) {
      const [line] = said.value as [string];
      if (line === `started ${id}`) return;
      if (line.startsWith(`refused ${id} `)) throw new Error(line);
    }
  }

  /** Resolves when the program has written something. */
  async exec(id: string, exec: ExecSpec): Promise<void> {
    const running = this.said(`running in ${id}`);
    this.process.stdin!.write(`${JSON.stringify({ id, exec })}\n`);
    await running;
  }

  async kill(): Promise<void> {
    const exited = once(this.process, "exit");
    this.process.kill("SIGKILL");
    await exited;
  }
}

/** A world whose own driver is closed, so that another process can take its data folder. */
export async function leftWorld(): Promise<HostWorld> {
  const world = await openHost();
  await world.compute[Symbol.asyncDispose]();
  return world;
}
