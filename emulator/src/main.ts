/** Starts the emulator of Millrace for a test, and lets the test move its time and ask for faults. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

interface EmulatorOptions {
  /** A file that the state is loaded from if it exists, and saved to by `stop()`. */
  state?: string;
  /** The program; by default `millrace` of this checkout, of the package that npm installed, or else the one on the path. */
  program?: string;
  /** Further flags of `millrace serve`. */
  args?: readonly string[];
}

interface FaultTerms {
  kind: "no-capacity" | "worker-crash" | "rate-limit" | "slow-pull";
  endpointId?: string;
  gpuTypeId?: string;
  path?: string;
  seconds?: number;
  exitCode?: number;
  at?: "start" | "job";
  times?: number;
}

const CHECKOUT = fileURLToPath(new URL("../../millrace", import.meta.url));

export async function start({ state, program, args = [] }: EmulatorOptions = {}): Promise<Emulator> {
  const data = await mkdtemp(join(tmpdir(), "millrace-emulator-"));
  const command =
    program ?? [CHECKOUT, installed()].find((path) => path !== undefined && existsSync(path)) ?? "millrace";
  const flags = ["serve", "--emulate", "--data", data, "--port", "0", "--log-level", "warn"];
  const child = spawn(command, [...flags, ...(state === undefined ? [] : ["--state", state]), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  try {
    const url = await listening(child);
    const key = (await readFile(join(data, "api-key"), "utf8")).trim();
    return new Emulator({ url, key, data, child });
  } catch (error) {
    child.kill("SIGKILL");
    await rm(data, { recursive: true, force: true });
    throw error;
  }
}

/** The launcher of the package `millrace`, which this one depends on. */
function installed(): string | undefined {
  try {
    return join(dirname(createRequire(import.meta.url).resolve("millrace/package.json")), "millrace");
  } catch {
    return undefined;
  }
}

/** Resolves with the address once the server says it. What it says before it fails is in the error. */
function listening(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let errors = "";
    child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      errors = (errors + text).slice(-4000);
    });
    createInterface(child.stdout!).on("line", (line) => {
      const url = /^listening on (\S+)$/.exec(line)?.[1];
      if (url) resolve(url);
    });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the emulator ended with ${code} before it listened: ${errors}`)));
  });
}

export class Emulator implements AsyncDisposable {
  /** Where the server is, such as `http://127.0.0.1:40123`. */
  readonly url: string;
  /** The owner's API key. */
  readonly key: string;
  readonly #data: string;
  readonly #child: ChildProcess;
  readonly #endWithUs = () => {
    this.#child.kill("SIGKILL");
  };

  constructor({ url, key, data, child }: { url: string; key: string; data: string; child: ChildProcess }) {
    this.url = url;
    this.key = key;
    this.#data = data;
    this.#child = child;
    process.once("exit", this.#endWithUs);
  }

  /** Moves time ahead by `90s`, `15m`, `12h` or `30d`. Resolves with the new time, when what fell due was done. */
  async advance(time: string): Promise<string> {
    return (await this.#call<{ now: string }>("POST", "/emulator/clock", { advance: time })).now;
  }

  /** The emulator's time, in RFC 3339. */
  async now(): Promise<string> {
    return (await this.#call<{ now: string }>("GET", "/emulator/clock")).now;
  }

  /** Asks for a fault. Resolves with its id when the next request meets it. */
  async fault(terms: FaultTerms): Promise<string> {
    return (await this.#call<{ id: string }>("POST", "/emulator/faults", terms)).id;
  }

  /** Removes one fault, or all of them. */
  async clear(fault?: string): Promise<void> {
    await this.#call("DELETE", fault === undefined ? "/emulator/faults" : `/emulator/faults/${fault}`);
  }

  /** Saves records, jobs, keys and time to one file, for `start({ state: file })`. */
  async save(file: string): Promise<void> {
    await this.#call("POST", "/emulator/state", { file });
  }

  /** Ends the server, and removes everything but a state file. */
  async stop(): Promise<void> {
    process.off("exit", this.#endWithUs);
    const { exitCode, signalCode } = this.#child;
    if (exitCode === null && signalCode === null) {
      this.#child.kill("SIGTERM");
      await once(this.#child, "exit");
    }
    await rm(this.#data, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #call<T>(method: string, path: string, body?: object): Promise<T> {
    const headers = { authorization: `Bearer ${this.key}`, "content-type": "application/json" };
    const response = await fetch(this.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} was answered with ${response.status}: ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }
}
