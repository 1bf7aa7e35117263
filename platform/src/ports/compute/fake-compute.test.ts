/** The fake driver keeps the port's guarantees, and fails on demand. */

import type { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { FakeClock } from "../../kernel/clock.ts";
import { computeConformance } from "./compute.conformance.ts";
import { type InstanceSpec, type Mount, StartRefused } from "./compute.ts";
import { FAKE_FOLDER, playExecution } from "./conformance-steps.ts";
import { ended, found, linesOf, type OpenedCompute, type Step, type TestRegistry } from "./conformance-world.ts";
import { type Behaviour, exitsAfter, FakeCompute, type FakeOptions } from "./fake-compute.ts";
import type { FakeInstance } from "./fake-instance.ts";
import { FakeWire } from "./fake-networks.ts";
import type { FakeCan } from "./fake-options.ts";
import { spansConformance } from "./spans.conformance.ts";

const echo = (connection: Duplex) => connection.pipe(connection);

/** Returns the place of a file that a program keeps on a volume. */
function volumeFile({ mounts = [] }: InstanceSpec, file: string): [volume: string, file: string] {
  const mount = mountOf(mounts, file)!;
  return [mount.volume, file.slice(mount.path.length)];
}

/** Of mounts below each other, the innermost. */
const mountOf = (mounts: readonly Mount[], file: string) =>
  mounts.filter(({ path }) => file.startsWith(`${path}/`)).sort((a, b) => b.path.length - a.path.length)[0];

/** Plays the steps of the conformance suite, which `cmd` carries. */
const playSteps =
  (compute: () => FakeCompute): Behaviour =>
  (instance, spec) => {
    instance.onExec = (program) => void playExecution(program, instance).catch(() => {});
    play(instance, spec, compute(), JSON.parse(spec.cmd[0]!));
  };

const PATIENCE_MS = 50;

function play(instance: FakeInstance, spec: InstanceSpec, compute: FakeCompute, steps: Step[]): void {
  const [step, ...rest] = steps;
  const { volumes } = compute;
  const next = () => play(instance, spec, compute, rest);
  if (!step) instance.exit({ code: 0 });
  else if ("exit" in step) instance.exit({ code: step.exit });
  else if ("kill" in step) instance.exit({ signal: step.kill });
  else if ("pauseMs" in step) instance.after(step.pauseMs, next);
  else if ("call" in step && step.isPatient && !compute.reaches(instance, step.call, step.port))
    instance.after(PATIENCE_MS, () => play(instance, spec, compute, steps));
  else if ("stayWhateverIsAsked" in step) instance.onAsk = () => {};
  else if ("stayUntilAsked" in step) instance.onAsk = () => instance.exit({ code: step.stayUntilAsked });
  else if ("takeMemoryMb" in step && step.takeMemoryMb > spec.limits.memoryMb)
    instance.exit({ signal: "SIGKILL", reason: `out of memory: may use ${spec.limits.memoryMb} MB` });
  else if ("save" in step && mountOf(spec.mounts ?? [], step.in)?.readOnly) {
    instance.write("EROFS: read-only file system\n");
    instance.exit({ code: 1 });
  } else if ("save" in step && !volumes!.write(...volumeFile(spec, step.in), step.save.repeat(step.times ?? 1))) {
    if (step.isPatient) instance.after(PATIENCE_MS, () => play(instance, spec, compute, steps));
    else {
      instance.write("ENOSPC: no space left on device\n");
      instance.exit({ code: 1 });
    }
  } else {
    if ("call" in step) instance.write(compute.reaches(instance, step.call, step.port) ? "reached\n" : "unreachable\n");
    if ("write" in step) instance.write(step.write.repeat(step.times ?? 1));
    if ("burnMs" in step) instance.uses = { ...instance.uses, cpuMs: step.burnMs };
    if ("takeMemoryMb" in step) instance.uses = { ...instance.uses, memoryBytes: step.takeMemoryMb * 1_048_576 };
    if ("writeSaved" in step) instance.write(`${volumes!.read(...volumeFile(spec, step.writeSaved)) ?? "nothing"}\n`);
    if ("count" in step) {
      const times = Number(instance.disk.get(step.count) ?? 0) + 1;
      instance.disk.set(step.count, String(times));
      instance.write(`${times}\n`);
    }
    if ("writeVariable" in step) instance.write(`${JSON.stringify(spec.env[step.writeVariable])}\n`);
    if ("echoOn" in step) {
      instance.listen(step.echoOn, echo);
      instance.write("listening\n");
    } else next();
  }
}

const GPUS = { type: "NVIDIA L4", count: 3, virtual: true };
function fakeRegistry({ registry }: FakeCompute): TestRegistry {
  const credential = { username: "reader", password: "open-sesame" };
  return {
    credential,
    async put(tag, line) {
      const image = `registry.example/private/image:${tag}`;
      registry.put(image, line, credential);
      return image;
    },
    program: (image, line) => ({ image, entrypoint: [], cmd: [JSON.stringify([{ write: `${line}\n` }])] }),
    async leave() {
      registry.away = "connection refused";
    },
    async [Symbol.asyncDispose]() {},
  };
}

async function openFake(
  can: Partial<FakeCan> = {},
  isCluster = false,
  more: Partial<FakeOptions> = {},
): Promise<OpenedCompute> {
  const clock = new FakeClock();
  const behaviour = playSteps(() => compute);
  let compute = new FakeCompute(clock, { behaviour, capacity: { gpus: [GPUS] }, can, isCluster, ...more });
  const refuseMissing = () =>
    compute.refuse((image) => (image === "missing" ? "there is no image 'missing'" : undefined));
  refuseMissing();
  return {
    compute,
    program: (steps) => ({ image: "fake", entrypoint: [], cmd: [JSON.stringify(steps)] }),
    command: (steps) => [JSON.stringify(steps)],
    folder: FAKE_FOLDER,
    disk: "/tmp",
    reach: (outside) => compute.ports.reach(outside),
    smallestVolumeMb: 2,
    missingImage: "missing",
    openRegistry: async () => fakeRegistry(compute),
    async reopen() {
      await compute[Symbol.asyncDispose]();
      compute = compute.restarted();
      refuseMissing();
      return compute;
    },
    remains: async (id) => ((await found(compute, id)) ? [`instance ${id}`] : []),
    groupsLeft: async () => ((await compute.networks?.list()) ?? []).map(({ id }) => `network ${id}`),
    pass: (ms) => clock.advance(ms),
    async [Symbol.asyncDispose]() {
      await compute[Symbol.asyncDispose]();
      expect(clock.waiting).toBe(0);
    },
  };
}

computeConformance("FakeCompute", () => openFake());
computeConformance("FakeCompute as a cluster", () => openFake({}, true));
computeConformance("FakeCompute that keeps disks on volumes alone and sends no signals", () =>
  openFake({ needsVolume: true, execSignals: false }),
);
computeConformance("FakeCompute without abilities", () =>
  openFake({
    preparing: false,
    freezing: false,
    again: false,
    exec: false,
    loopback: false,
    stats: false,
    writers: false,
    link: false,
    ownNetwork: false,
    sandbox: false,
    limits: false,
    volumes: false,
    volumeSizes: false,
    networks: false,
    publishing: false,
  }),
);

spansConformance("FakeCompute", async () => {
  const wire = new FakeWire();
  const at = (address: string) =>
    openFake({}, false, { wire, spanning: { end: { address, port: 7424, mtu: 1500, trusts: [] } } });
  return [await at("192.0.2.1"), await at("192.0.2.2")];
});

const spec: InstanceSpec = {
  kind: "worker",
  account: "account",
  owner: "endpoint",
  image: "fake",
  entrypoint: [],
  cmd: [],
  env: {},
  limits: { vcpu: 1, memoryMb: 512, diskGb: 1 },
  ports: [80],
};

test("starts are refused with the reason it was told, until it is told otherwise", async () => {
  await using compute = new FakeCompute(new FakeClock());
  compute.refuse("the disk is full");
  await expect(compute.start("i", spec)).rejects.toEqual(new StartRefused("the disk is full"));
  compute.refuse(undefined);
  expect(await compute.start("i", spec)).toMatchObject({ state: "running" });
});

test("a verb fails with the error it was told, until it is told otherwise", async () => {
  await using compute = new FakeCompute(new FakeClock());
  compute.fail("list", new Error("engine away"));
  await expect(compute.list()).rejects.toThrow("engine away");
  compute.fail("list", undefined);
  expect(await compute.list()).toEqual([]);
});

test("a start that is under way when the server dies begins no program, and the next server starts it anew", async () => {
  const clock = new FakeClock();
  const begun: string[] = [];
  const before = new FakeCompute(clock, { behaviour: ({ id }) => void begun.push(id) });
  before.startMs = 5_000;
  void before.start("one", spec);
  void before.start("other", spec);
  const compute = before.restarted();
  await compute.start("one", spec);
  await clock.advance(10_000);
  expect(begun).toEqual(["one"]);
  expect(await compute.list()).toMatchObject([{ id: "one" }]);
});

test("a slow start is one start, however often it is asked for, and takes its time", async () => {
  const clock = new FakeClock();
  await using compute = new FakeCompute(clock);
  compute.startMs = 5_000;
  const starts = [compute.start("i", spec), compute.start("i", spec)];
  await clock.advance(4_999);
  expect(await compute.list()).toEqual([]);
  await clock.advance(1);
  expect(await Promise.all(starts)).toHaveLength(2);
  expect(await compute.list()).toHaveLength(1);
});

test("a program exits when it was told to, with its lines", async () => {
  const clock = new FakeClock();
  await using compute = new FakeCompute(clock, { behaviour: exitsAfter(1_000, 7, ["boom"]) });
  await compute.start("i", spec);
  await clock.advance(999);
  expect(await found(compute, "i")).toMatchObject({ state: "running" });
  await clock.advance(1);
  expect(await ended(compute, "i")).toEqual({ code: 7, at: clock.now() });
  expect((await linesOf(compute, "i")).lines).toEqual(["boom"]);
});

test("a frozen program does what it had in mind after the thaw", async () => {
  const clock = new FakeClock();
  await using compute = new FakeCompute(clock, { behaviour: exitsAfter(1_000) });
  await compute.start("i", spec);
  await compute.freezing!.freeze("i");
  await clock.advance(2_000);
  expect(await found(compute, "i")).toMatchObject({ state: "frozen" });
  await compute.freezing!.thaw("i");
  expect(await found(compute, "i")).toMatchObject({ state: "exited" });
});

test("a lost instance is in no list, and nobody is told", async () => {
  await using compute = new FakeCompute(new FakeClock());
  await compute.start("i", spec);
  const heard: string[] = [];
  compute.watch(({ state }) => heard.push(state));
  compute.lose("i");
  expect(await compute.list()).toEqual([]);
  expect(heard).toEqual([]);
});

test("a program that hangs is not stopped, but can be removed", async () => {
  const clock = new FakeClock();
  await using compute = new FakeCompute(clock);
  await compute.start("i", spec);
  compute.hangsOnStop = true;
  let stopped = false;
  void compute.stop("i", 1_000).then(() => {
    stopped = true;
  });
  await clock.advance(60_000);
  expect([stopped, (await found(compute, "i"))?.state]).toEqual([false, "running"]);
  await compute.remove("i");
  expect(await compute.list()).toEqual([]);
});

test("it tells the capacity it was given, and what is left of it", async () => {
  await using compute = new FakeCompute(new FakeClock(), { capacity: { vcpu: 2, gpus: [GPUS] } });
  expect(await compute.capacity()).toMatchObject([{ vcpu: 2, gpus: [GPUS] }]);
  compute.resize({ gpus: [] });
  await expect(compute.start("i", { ...spec, gpu: { type: GPUS.type, count: 1 } })).rejects.toBeInstanceOf(
    StartRefused,
  );
});
