/** The world of a conformance test: a driver, and programs that do scripted steps. Everything that a test started is removed afterwards. */
import { once } from "node:events";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { expect, type TestContext } from "vitest";
import { type Ability, whyLacking } from "./abilities.ts";
import {
  type Compute,
  type Exit,
  type Instance,
  type InstanceSpec,
  ONLY_BOX,
  type RegistryCredential,
} from "./compute.ts";
import type { NetworkAsk, NetworkName } from "./groups.ts";
import type { Bringing } from "./images.ts";

/** One step of a test's program. The program does its steps in order and exits with 0 after the last. */
export type Step =
  /** Writes this text without adding a line end, once or as often as `times` says. */
  | { write: string; times?: number }
  /** Writes the value of a variable as JSON text on a line of its own. */
  | { writeVariable: string }
  /** Waits until it is asked to end, and then exits with this code. */
  | { stayUntilAsked: number }
  /** Stays when it is asked to end, so only force ends it. */
  | { stayWhateverIsAsked: true }
  /** Listens on this port, then writes a line, and sends back what it receives until it is asked to end. */
  | { echoOn: number }
  /**
   * Connects to this port by address or name, and writes `reached` or `unreachable` on a line of its own. A patient one tries until it
   * succeeds.
   */
  | { call: string; port: number; isPatient?: true }
  | { pauseMs: number }
  /** Leaves a second process behind that never ends. */
  | { leaveChild: true }
  | { takeMemoryMb: number }
  /** Writes this text to a file, once or as often as `times` says. A patient one tries until there is room. */
  | { save: string; in: string; times?: number; isPatient?: boolean }
  /** Fills a file with this much data. */
  | { fillMb: number; in: string }
  /** Uses the CPU for at least this long. */
  | { burnMs: number }
  /** Writes the text of a file on a line of its own, or `nothing` if there is no file. */
  | { writeSaved: string }
  /** Writes to stderr. */
  | { writeError: string }
  /** Sends back its input until the input ends. */
  | { echoInput: true }
  /** Writes its working folder on a line of its own. */
  | { writeFolder: true }
  /** Writes the size of its terminal as `80x24` on a line of its own, or `none`. With `always`, it does so again at every change. */
  | { writeSize: "once" | "always" }
  /** Keeps running when it is hung up. */
  | { ignoreHangUp: true }
  /** Writes how often this step was done with this file, on a line of its own. */
  | { count: string }
  | { kill: "SIGKILL" }
  | { exit: number };

type Program = Pick<InstanceSpec, "image" | "entrypoint" | "cmd">;

/** A registry that the driver can ask, with one repository that needs a credential. */
export interface TestRegistry extends AsyncDisposable {
  credential: RegistryCredential;
  /** Makes a tag point to an image whose program writes this line. Resolves with its reference. */
  put(tag: string, line: string): Promise<string>;
  /** Returns the program of that image. */
  program(exact: string, line: string): Program;
  /** From now on the registry cannot be reached. */
  leave(): Promise<void>;
}

/** A driver opened for one test. */
export interface OpenedCompute extends AsyncDisposable {
  compute: Compute;
  /** Returns what makes a program do these steps on this driver. */
  program(steps: readonly Step[]): Program;
  /** Present if the driver gets images from a registry. */
  openRegistry?: () => Promise<TestRegistry>;
  /** Returns the command that makes an execution in an instance do these steps. */
  command(steps: readonly Step[]): readonly string[];
  /** The folder in which the program of an instance starts. */
  folder: string;
  /** A folder on the instance's own disk. */
  disk: string;
  /** Connects to a port of the machine, as from outside. Rejects when nothing is there. */
  reach(outside: number): Promise<Duplex>;
  /** The size of the smallest volume that can grow while it is mounted. */
  smallestVolumeMb: number;
  /** An image that is not there. */
  missingImage: string;
  /** Releases the driver and opens the machine again, as the server's next process does. */
  reopen(): Promise<Compute>;
  /** Returns what can still be found of an instance, in words: processes, files, names. */
  remains(id: string): Promise<string[]>;
  /** Returns what can still be found of groups on the machine, in words. */
  groupsLeft(): Promise<string[]>;
  /** Moves time forward, if the driver's clock does not move by itself. */
  pass(ms: number): Promise<void>;
}

/** Connects to a port at one of the machine's own addresses. */
export async function reachAt(host: string, port: number): Promise<Duplex> {
  const socket = connect({ host, port, timeout: 10_000 });
  socket.on("timeout", () => socket.destroy(new Error("no answer")));
  await once(socket, "connect");
  return socket.on("error", () => {});
}

const instanceIds = (function* () {
  for (let n = 1; ; n++) yield `conform${process.pid.toString(36)}x${n.toString(36)}`;
})();

export const newId = () => instanceIds.next().value;

export function specOf(opened: OpenedCompute, steps: readonly Step[], more: Partial<InstanceSpec> = {}): InstanceSpec {
  return {
    kind: "worker",
    account: "account",
    owner: "endpoint",
    ...opened.program(steps),
    env: {},
    limits: { vcpu: 1, memoryMb: 512, diskGb: 1 },
    ports: [],
    ...more,
  };
}

/** Resolves with the first view of this instance for which `holds` is true. That may be its present state. */
export function seen(compute: Compute, id: string, holds: (instance: Instance) => boolean): Promise<Instance> {
  return new Promise((resolve, reject) => {
    const look = (instance: Instance | undefined) => {
      if (instance?.id !== id || !holds(instance)) return;
      stop();
      resolve(instance);
    };
    const stop = compute.watch(look);
    compute.list().then((all) => look(all.find((instance) => instance.id === id)), reject);
  });
}

export const ended = async (compute: Compute, id: string): Promise<Exit> =>
  (await seen(compute, id, ({ state }) => state === "exited")).exit!;

export const found = async (compute: Compute, id: string) => (await compute.list()).find((one) => one.id === id);

/** Resolves when the program has begun, also if the driver accepts the start first. Rejects when the start is refused, even later. */
export const startOn = (compute: Compute, id: string, spec: InstanceSpec): Promise<Instance> =>
  begun(compute, compute.start(id, spec));

export const againOn = (compute: Compute, id: string, spec: InstanceSpec): Promise<Instance> =>
  begun(compute, compute.again!.start(id, spec));

async function begun(compute: Compute, starting: Promise<Instance>): Promise<Instance> {
  const instance = await starting;
  if (instance.state !== "pending") return instance;
  const now = await seen(compute, instance.id, ({ state }) => state !== "pending");
  if (now.state !== "refused") return now;
  // Only a refused first start is removed. An instance that was to be started again stays as it was.
  if ((await found(compute, now.id))?.state === "refused") await compute.remove(now.id);
  throw now.refusal!;
}

/** Fetches an image to the first box, if the driver does not do so by itself. */
export async function bring(compute: Compute, image: string, bringing: Partial<Bringing> = {}): Promise<void> {
  const [box] = await compute.capacity();
  await compute.preparing?.prepare(image, box?.id ?? ONLY_BOX, { progress: () => {}, ...bringing });
}

/** Skips a test if the driver lacks one of these abilities. */
export function needs({ skip }: TestContext, compute: Compute, ...abilities: Ability[]): void {
  for (const ability of abilities) if (!compute[ability]) skip(whyLacking(compute, ability));
}

/** Returns all lines until the program ends, or the first `limit` of them. */
export async function linesOf(
  compute: Compute,
  id: string,
  { limit = Infinity, after = undefined as string | undefined } = {},
) {
  const over = new AbortController();
  const lines: string[] = [];
  let at = after;
  for await (const output of compute.logs(id, { after, signal: over.signal })) {
    lines.push(...output.lines);
    at = output.at;
    if (lines.length >= limit) break;
  }
  over.abort();
  return { lines, at };
}

/** Opens the driver for one test. Disposing removes everything that the test started. */
export async function openWorld(open: () => Promise<OpenedCompute>) {
  const opened = await open();
  let compute = opened.compute;
  const ids: string[] = [];
  const volumes: string[] = [];
  const networks: NetworkName[] = [];
  return {
    ...opened,
    get compute() {
      return compute;
    },
    async reopen() {
      compute = await opened.reopen();
      return compute;
    },
    spec: (steps: readonly Step[], more?: Partial<InstanceSpec>) => specOf(opened, steps, more),
    id() {
      const id = newId();
      ids.push(id);
      return id;
    },
    /** Creates a volume, which is removed at the end of the test. */
    async volume(sizeGb = 1) {
      const id = newId();
      volumes.push(id);
      await compute.volumes!.create({ id, sizeGb });
      return id;
    },
    /** The part of a spec that lets the driver start a Pod again after it has ended. */
    async repeatable(): Promise<Partial<InstanceSpec>> {
      const mounts = compute.again?.needsVolume ? [{ volume: await this.volume(), path: "/kept" }] : undefined;
      return { kind: "pod", owner: "p1", ...(mounts && { mounts }) };
    },
    /** Reserves a network, which is released at the end of the test. */
    async reserve(ask: Partial<NetworkAsk> = {}) {
      const whole = { account: "account", id: newId(), image: opened.program([]).image, names: ["node-0"], ...ask };
      networks.push(whole);
      return { ...(await compute.networks!.reserve(whole)), id: whole.id };
    },
    async start(steps: readonly Step[], more?: Partial<InstanceSpec>) {
      const id = this.id();
      await startOn(compute, id, specOf(opened, steps, more));
      return id;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(ids.map((id) => compute.remove(id)));
      await Promise.all(volumes.map((id) => compute.volumes!.remove(id)));
      await Promise.all(networks.map((network) => compute.networks!.release(network)));
      const left = await Promise.all(ids.map((id) => opened.remains(id)));
      const reserved = (await compute.networks?.list()) ?? [];
      await opened[Symbol.asyncDispose]();
      expect(left.flat()).toEqual([]);
      expect(reserved).toEqual([]);
    },
  };
}

export type World = Awaited<ReturnType<typeof openWorld>>;
