/** One of the servers of a chaos run: with a disk, a link to the database and a clock of its own, all of which can fail. */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { keyOf } from "../../platform/src/adapters/host/host-options.ts";
import { stay } from "../../platform/src/kernel/clock.ts";
import { type CuttableProxy, cuttableProxy } from "../../platform/tests/cuttable-proxy.ts";
import { freePort } from "../../platform/tests/postgres-server.ts";
import { type Server, startServer } from "../../platform/tests/process.ts";
import { SmallDisk } from "./small-disk.ts";

/** Debian's package libfaketime has it. Without it, clocks are not moved. */
const FAKETIME = `/usr/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu/faketime/libfaketime.so.1`;
const DISK_GB = 200;
const START_AGAIN_MS = 1_000;

export const movesClocks = existsSync(FAKETIME);

export class ChaosNode implements AsyncDisposable {
  readonly name: string;
  readonly data: string;
  readonly disk: SmallDisk;
  readonly link: CuttableProxy;
  /** What names its control groups, links and firewall rules. */
  readonly key: string;
  /** Whether it is being started, by this or by an earlier try. */
  #starting: Promise<void> | undefined;
  #server: Server | undefined;
  #log = "";
  readonly #port: number;
  readonly #clock: string;
  readonly #env: Record<string, string>;

  private constructor(
    parts: Pick<ChaosNode, "name" | "data" | "disk" | "link">,
    port: number,
    clock: string,
    env: object,
  ) {
    this.name = parts.name;
    this.data = parts.data;
    this.disk = parts.disk;
    this.link = parts.link;
    this.key = keyOf(join(parts.data, "instances")).key;
    this.#port = port;
    this.#clock = clock;
    this.#env = {
      ...(env as Record<string, string>),
      MILLRACE_DATABASE_URL: parts.link.url,
      ...(movesClocks && {
        LD_PRELOAD: FAKETIME,
        FAKETIME_TIMESTAMP_FILE: clock,
        FAKETIME_CACHE_DURATION: "1",
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
        DONT_FAKE_MONOTONIC: "1",
      }),
    };
  }

  static async make(name: string, folder: string, database: string, env: object): Promise<ChaosNode> {
    const disk = await SmallDisk.make(join(folder, name), DISK_GB);
    const data = join(disk.folder, "data");
    const link = await cuttableProxy(database);
    const node = new ChaosNode({ name, data, disk, link }, await freePort(), join(folder, `${name}.clock`), env);
    await node.moveClock(0);
    return node;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get pid(): number | undefined {
    return this.isUp ? this.#server!.process.pid : undefined;
  }

  get isUp(): boolean {
    const process = this.#server?.process;
    return process !== undefined && process.exitCode === null && process.signalCode === null;
  }

  /** The log of all its lives. */
  log(): string {
    return this.#log + (this.#server?.log() ?? "");
  }

  /** Starts it, again and again until it runs, as a service manager does. */
  start(): Promise<void> {
    this.#starting ??= this.#tryOn().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #tryOn(): Promise<void> {
    while (!this.isUp) {
      this.#log = this.log().slice(-2_000_000);
      this.#server = undefined;
      try {
        this.#server = await startServer(this.data, { args: ["--port", String(this.#port)], env: this.#env });
      } catch (error) {
        this.#log += `${(error as Error).message}\n`;
        await stay(START_AGAIN_MS);
      }
    }
  }

  signal(signal: NodeJS.Signals): void {
    if (this.isUp) this.#server!.process.kill(signal);
  }

  async end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | undefined> {
    return this.isUp ? this.#server!.end(signal) : undefined;
  }

  /** By so many seconds from the machine's own time. The node sees it within a second. */
  moveClock(seconds: number): Promise<void> {
    return writeFile(this.#clock, `${seconds < 0 ? "" : "+"}${seconds}\n`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.signal("SIGCONT");
    await this.end("SIGKILL");
    await this.link[Symbol.asyncDispose]();
    await this.disk[Symbol.asyncDispose]();
  }
}
