/** The world of a conformance test: a driver, programs that do as they are told, and what was started is removed again. */
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

/** One thing that the program of a test does; it does them in order and exits with 0 after the last. */
export type Step =
  /** Writes this, without adding a line end, once or as often as it says. */
  | { write: string; times?: number }
  /** Writes the value of a variable as JSON text in a line of its own. */
  | { writeVariable: string }
  /** Waits until it is asked to end, and then exits with this code. */
  | { stayUntilAsked: number }
  /** Stays, and ends only by force. */
  | { stayWhateverIsAsked: true }
  /** Listens on this port, writes a line once it does, and sends back what it receives until it is asked to end. */
  | { echoOn: number }
  /** Connects to this port, by address or name, and writes `reached` in a line of its own, or `unreachable`; a patient one tries until it has. */
  | { call: string; port: number; isPatient?: true }
  | { pauseMs: number }
  /** Leaves a second process behind that stays for ever. */
  | { leaveChild: true }
  | { takeMemoryMb: number }
  /** Writes this text to a file, once or as often as it says; a patient one tries until there is room for it. */
  | { save: string; in: string; times?: number; isPatient?: boolean }
  /** Fills a file with so much. */
  | { fillMb: number; in: string }
  /** Computes for at least so long. */
  | { burnMs: number }
  /** Writes the text of a file in a line of its own, or `nothing` where there is none. */
  | { writeSaved: string }
  /** Writes to where errors are told. */
  | { writeError: string }
  /** Sends back what it reads, until there is no more. */
  | { echoInput: true }
  /** Writes the folder that it is in, in a line of its own. */
  | { writeFolder: true }
  /** Writes the size of its terminal as `80x24` in a line of its own, or `none`; with `always`, again whenever it changes. */
  | { writeSize: "once" | "always" }
  /** Does not end when it is hung up. */
  | { ignoreHangUp: true }
  /** Writes how often it was done with this file, in a line of its own. */
  | { count: string }
  | { kill: "SIGKILL" }
  | { exit: number };

type Program = Pick<InstanceSpec, "image" | "entrypoint" | "cmd">;

/** A registry that the driver can ask, with one repository that needs a credential. */
export interface TestRegistry extends AsyncDisposable {
  credential: RegistryCredential;
  /** Makes a tag mean an image whose program writes this line; resolves with its reference. */
  put(tag: string, line: string): Promise<string>;
  /** The program of that image. */
  program(exact: string, line: string): Program;
  /** From now on it cannot be asked. */
  leave(): Promise<void>;
}

/** A driver opened for one test. */
export interface OpenedCompute extends AsyncDisposable {
  compute: Compute;
  /** What makes a program do these steps on this driver. */
  program(steps: readonly Step[]): Program;
  /** Where images come from a registry. */
  openRegistry?: () => Promise<TestRegistry>;
  /** The command that makes one more program in an instance do these steps. */
  command(steps: readonly Step[]): readonly string[];
  /** Where the program of an instance begins. */
  folder: string;
  /** A folder of its own disk. */
  disk: string;
  /** A connection to a port of the machine, as from outside. Rejects when there is none. */
  reach(outside: number): Promise<Duplex>;
  /** The smallest volume that can grow while it is mounted. */
  smallestVolumeMb: number;
  /** An image that is not there. */
  missingImage: string;
  /** Lets go of the driver and opens the machine anew, as the next process of the server does. */
  reopen(): Promise<Compute>;
  /** What can still be found of an instance, in words: processes, files, names. */
  remains(id: string): Promise<string[]>;
  /** What can still be found of groups on the machine, in words. */
  groupsLeft(): Promise<string[]>;
  /** Lets time pass where the driver's clock does not move by itself. */
  pass(ms: number): Promise<void>;
}

/** At one of the machine's own addresses. */
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

/** Resolves with the first instance of this id for which the claim holds, which may be so already. */
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

/** Resolves when it has begun, also where the driver accepts it first; rejects when it is refused, be it late. */
export const startOn = (compute: Compute, id: string, spec: InstanceSpec): Promise<Instance> =>
  begun(compute, compute.start(id, spec));

export const againOn = (compute: Compute, id: string, spec: InstanceSpec): Promise<Instance> =>
  begun(compute, compute.again!.start(id, spec));

async function begun(compute: Compute, starting: Promise<Instance>): Promise<Instance> {
  const instance = await starting;
  if (instance.state !== "pending") return instance;
  const now = await seen(compute, instance.id, ({ state }) => state !== "pending");
  if (now.state !== "refused") return now;
  // Of one that is started again what was there before stays.
  if ((await found(compute, now.id))?.state === "refused") await compute.remove(now.id);
  throw now.refusal!;
}

/** Brings an image to the first box, where the driver does not do so by itself. */
export async function bring(compute: Compute, image: string, bringing: Partial<Bringing> = {}): Promise<void> {
  const [box] = await compute.capacity();
  await compute.preparing?.prepare(image, box?.id ?? ONLY_BOX, { progress: () => {}, ...bringing });
}

/** Skips a test for a driver that lacks one of these. */
export function needs({ skip }: TestContext, compute: Compute, ...abilities: Ability[]): void {
  for (const ability of abilities) if (!compute[ability]) skip(whyLacking(compute, ability));
}

/** All lines up to the end of the program, or the first `limit` of them. */
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

/** Opens the driver for one test; whatever the test started is removed with it. */
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
    /** A new volume, which goes with the test. */
    async volume(sizeGb = 1) {
      const id = newId();
      volumes.push(id);
      await compute.volumes!.create({ id, sizeGb });
      return id;
    },
    /** A Pod that the driver can start again once it has ended. */
    async repeatable(): Promise<Partial<InstanceSpec>> {
      const mounts = compute.again?.needsVolume ? [{ volume: await this.volume(), path: "/kept" }] : undefined;
      return { kind: "pod", owner: "p1", ...(mounts && { mounts }) };
    },
    /** Reserves a network, which goes with the test. */
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
