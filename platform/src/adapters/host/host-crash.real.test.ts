/** A server is killed. Its instances go on and are found again, or are gone without a trace, and none is left alone for ever. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { access, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { DriverProcess, leftWorld } from "../../../tests/driver-world.ts";
import { realClock, sleep, stay } from "../../kernel/clock.ts";
import { realRandom, SeededRandom } from "../../kernel/random.ts";
import type { InstanceKind } from "../../ports/compute/compute.ts";
import { ended, found, linesOf, newId, reachAt, specOf } from "../../ports/compute/conformance-world.ts";
import { runTool } from "../machine/forker.ts";
import { type Identity, isAlive, numbersIn, parseStat, sendSignal } from "../machine/processes.ts";
import { LAUNCH } from "./host-instance.ts";
import { keyOf } from "./host-options.ts";
import { type HostWorld, openHost } from "./host-world.ts";
import { InstanceFolder, keptFrom } from "./instance-folder.ts";
import { launchedFrom } from "./launcher.ts";
import { missingForTests } from "./machine.ts";
import { foldersBelow } from "./remains.ts";

const seed = Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());
const KILLS = 8;

const missing = await missingForTests();
beforeEach(({ skip }) => skip(missing !== undefined, missing));

test("instances go on when their server is killed, write on, and are found with all they wrote", async () => {
  await using world = await leftWorld();
  const driver = await DriverProcess.open(world.data);
  const [lives, ends] = [newId(), newId()];
  await driver.start(lives, specOf(world, [{ write: "ready\n" }, { stayUntilAsked: 4 }]));
  await driver.start(ends, specOf(world, [{ pauseMs: 300 }, { write: "after the kill\n" }, { exit: 9 }]));
  await driver.kill();
  const compute = await world.reopen();
  expect(await ended(compute, ends)).toMatchObject({ code: 9 });
  expect((await linesOf(compute, ends)).lines).toEqual(["after the kill"]);
  expect(await found(compute, lives)).toMatchObject({ state: "running" });
  await linesOf(compute, lives, { limit: 1 });
  await compute.stop(lives, 10_000);
  expect(await found(compute, lives)).toMatchObject({ exit: { code: 4 } });
  await Promise.all([lives, ends].map((id) => compute.remove(id)));
});

test(`a server killed in the middle of starts, ${KILLS} times: what is not listed is not there (seed ${seed})`, async () => {
  await using world = await leftWorld();
  const random = new SeededRandom(seed);
  for (let kill = 0; kill < KILLS; kill++) {
    const driver = await DriverProcess.open(world.data);
    const ids = Array.from({ length: 6 }, () => newId());
    for (const id of ids) driver.tell(id, specOf(world, [{ stayUntilAsked: 0 }]));
    await stay(random.below(60));
    await driver.kill();
    const compute = await world.reopen();
    const listed = new Set((await compute.list()).map(({ id }) => id));
    // A launcher whose folder is gone needs a moment to notice it.
    for (const id of ids.filter((one) => !listed.has(one)))
      await until(async () => (await world.remains(id)).length === 0);
    for (const id of listed) await compute.remove(id);
    for (const id of ids) expect(await world.remains(id)).toEqual([]);
    await compute[Symbol.asyncDispose]();
  }
}, 600_000);

test("what a killed server ran beside an instance's program is hung up, whether or not it hears that, and the instance goes on", async () => {
  await using world = await leftWorld();
  const driver = await DriverProcess.open(world.data);
  const id = newId();
  await driver.start(id, specOf(world, [{ write: "ready\n" }, { stayUntilAsked: 4 }]));
  const mark = (text: string) => ({ cmd: ["sh", "-c", `${text}; echo up; while :; do sleep 0.1; done # left-${id}`] });
  await driver.exec(id, mark("true"));
  await driver.exec(id, mark("trap '' HUP"));
  await driver.exec(id, { ...mark("trap '' HUP"), terminal: { columns: 80, rows: 24 } });
  const left = async () => (await world.remains(id)).filter((one) => one.includes(`left-${id}`)).length;
  expect(await left()).toBeGreaterThanOrEqual(3);
  await driver.kill();
  await until(async () => (await left()) === 0);
  const compute = await world.reopen();
  expect(await found(compute, id)).toMatchObject({ state: "running" });
  await compute.remove(id);
});

test("what an instance publishes is reached while no server runs, and goes when it ends before the next one comes", async () => {
  await using world = await leftWorld();
  const driver = await DriverProcess.open(world.data);
  const [stays, ends] = [newId(), newId()];
  const publish = { publish: [{ port: 80 }] };
  await driver.start(stays, specOf(world, [{ echoOn: 80 }], publish));
  await driver.start(ends, specOf(world, [{ pauseMs: 300 }, { exit: 0 }], publish));
  const kept = async (id: string) => JSON.parse(await readFile(join(world.data, "instances", id, "spec.json"), "utf8"));
  const [{ published, address }, gone] = [await kept(stays), await kept(ends)];
  await driver.kill();
  const { outside } = published[0];
  const network = await readFile(join(world.data, "instances", ".network"), "utf8");
  const gateway = network.replace(/\d+\/\d+$/, "1");
  await until(async () => (await reachAt(gateway, outside).catch(() => undefined))?.destroy() !== undefined);
  await until(async () => existsSync(join(world.data, "instances", ends, "exit")));
  const compute = await world.reopen();
  expect(await found(compute, stays)).toMatchObject({ published });
  (await world.reach(outside)).destroy();
  expect(await found(compute, ends)).not.toHaveProperty("published");
  await expect(world.reach(gone.published[0].outside)).rejects.toThrow();
  expect(address).not.toBe(gone.address);
  await Promise.all([stays, ends].map((id) => compute.remove(id)));
});

test("a driver that is let go of twice takes nothing from the one after it", async () => {
  await using world = await openHost();
  const first = world.compute;
  const second = await world.reopen();
  const id = newId();
  await second.start(id, specOf(world, [{ write: "ready\n" }, { stayUntilAsked: 0 }]));
  await linesOf(second, id, { limit: 1 });
  const { key } = keyOf(join(world.data, "instances"));
  const there = await named(key);
  await first[Symbol.asyncDispose]();
  expect(await named(key)).toEqual(there);
  expect((await world.remains(id)).some((thing) => thing.startsWith("process"))).toBe(true);
});

test("a launcher that had not said who it is when its server was killed is found, and runs its program", async () => {
  await using world = await leftWorld();
  await using half = await halfStarted(world);
  const launcher = await half.launcherBeforeItsFirstStep();
  const compute = await world.reopen();
  expect(await found(compute, half.id)).toMatchObject({ state: "running" });
  launcher.goOn();
  expect(await ended(compute, half.id)).toMatchObject({ code: 9 });
  await compute.remove(half.id);
  expect(await world.remains(half.id)).toEqual([]);
});

test("a launcher that comes to life after its server's successor looked for it starts nothing", async () => {
  await using world = await leftWorld();
  await using half = await halfStarted(world);
  const launcher = await half.launcherBeforeItIsOne();
  const compute = await world.reopen();
  expect(await compute.list()).toEqual([]);
  launcher.goOn();
  await launcher.ended;
  expect(await readFile(half.traceOfProgram, "utf8").catch(() => "nothing")).toBe("nothing");
  expect(await world.remains(half.id)).toEqual([]);
});

test("a launcher that comes to life while its server's successor removes what is left of it starts nothing", async () => {
  await using world = await leftWorld();
  await using half = await halfStarted(world);
  const launcher = await half.launcherBeforeItIsOne();
  expect(await launchedFrom(half.folder)).toBeUndefined();
  launcher.goOn();
  await launcher.ended;
  expect(await readFile(half.traceOfProgram, "utf8").catch(() => "nothing")).toBe("nothing");
  const compute = await world.reopen();
  expect(await compute.list()).toEqual([]);
  expect(await world.remains(half.id)).toEqual([]);
});

test("a Pod whose launcher had only just been started when its server was killed keeps its network", async () => {
  await using world = await leftWorld();
  const driver = await DriverProcess.open(world.data, 3);
  await using half = await halfStarted(world, "pod");
  const launcher = await half.launcherBeforeItsFirstStep();
  const { key } = keyOf(join(world.data, "instances"));
  const there = await named(key);
  await driver.kill();
  await nextLook(await watchdogOf(world));
  expect(await named(key)).toEqual(there);
  launcher.goOn();
  await launcher.ended;
});

test("when no server comes back in time workers end by themselves, and Pods stay", async () => {
  await using world = await leftWorld();
  const driver = await DriverProcess.open(world.data, 1);
  const [worker, stubborn, pod] = [newId(), newId(), newId()];
  await driver.start(worker, specOf(world, [{ leaveChild: true }, { stayUntilAsked: 0 }]));
  await driver.start(stubborn, specOf(world, [{ stayWhateverIsAsked: true }]));
  await driver.start(pod, specOf(world, [{ stayUntilAsked: 0 }], { kind: "pod" }));
  await driver.kill();
  await until(() =>
    access(join(world.data, "instances", ".watchdog")).then(
      () => false,
      () => true,
    ),
  );
  for (const id of [worker, stubborn])
    expect((await world.remains(id)).filter((thing) => !thing.startsWith("file"))).toEqual([]);
  const compute = await world.reopen();
  expect((await found(compute, worker))?.exit).toMatchObject({
    signal: "SIGKILL",
    reason: expect.stringContaining("server was gone"),
  });
  expect(await found(compute, pod)).toMatchObject({ state: "running" });
  await Promise.all([worker, stubborn, pod].map((id) => compute.remove(id)));
});

test("workers of a data folder that somebody removed end too", async () => {
  await using world = await leftWorld();
  const driver = await DriverProcess.open(world.data, 1);
  const id = newId();
  await driver.start(id, specOf(world, [{ stayWhateverIsAsked: true }]));
  await rm(join(world.data, "instances"), { recursive: true, maxRetries: 5 });
  await driver.kill();
  await until(async () => (await world.remains(id)).length === 0);
});

test("a server that comes back in time keeps its workers", async () => {
  await using world = await leftWorld();
  const driver = await DriverProcess.open(world.data);
  const id = newId();
  await driver.start(id, specOf(world, [{ stayUntilAsked: 0 }]));
  const before = await watchdogOf(world);
  await driver.kill();
  const compute = await world.reopen({ watchdogS: 1 });
  const watchdog = await watchdogOf(world);
  // Three looks take longer than the watchdog's patience. The watchdog before it has ended.
  for (let look = 0; look < 3; look++) await nextLook(watchdog);
  expect([await isAlive(before), await isAlive(watchdog)]).toEqual([false, true]);
  expect(await found(compute, id)).toMatchObject({ state: "running" });
  await compute.remove(id);
});

test("nothing is left of the machine's once the last instance and the server are gone", async () => {
  let key = "";
  {
    await using world = await openHost();
    ({ key } = keyOf(join(world.data, "instances")));
    const id = newId();
    await world.compute.start(id, specOf(world, [{ stayUntilAsked: 0 }]));
    expect((await named(key)).length).toBeGreaterThan(3);
    await world.compute.remove(id);
  }
  expect(await named(key)).toEqual([]);
});

test("a server that is killed with nothing running leaves nothing on the machine either", async () => {
  await using world = await leftWorld();
  const { key } = keyOf(join(world.data, "instances"));
  const driver = await DriverProcess.open(world.data, 60);
  expect((await named(key)).length).toBeGreaterThan(3);
  await driver.kill();
  await until(async () => (await named(key)).length === 0);
});

test("an instance whose launcher was ended is found to have ended, and its program with it", async () => {
  await using world = await openHost();
  const id = newId();
  await world.compute.start(id, specOf(world, [{ write: "ready\n" }, { stayWhateverIsAsked: true }]));
  await linesOf(world.compute, id, { limit: 1 });
  const launcher = parseStat(await readFile(join(world.data, "instances", id, "identity"), "utf8"))!;
  sendSignal(launcher.pid, "SIGKILL");
  expect(await ended(world.compute, id)).toMatchObject({ code: null, reason: expect.stringContaining("not seen") });
  expect((await world.remains(id)).filter((thing) => thing.startsWith("process"))).toEqual([]);
  await world.compute.remove(id);
});

test("a start whose folder is refused leaves nothing of what is made beside the check", async () => {
  await using world = await openHost();
  const id = newId();
  for (const kind of ["pod", "worker"] as const) {
    const refused = { ...specOf(world, []), kind, image: `host:${world.data}` };
    await expect(world.compute.start(id, refused)).rejects.toThrow("data folder");
    expect([await world.remains(id), await world.compute.list()]).toEqual([[], []]);
  }
});

test("a folder that another driver left half made is removed", async () => {
  await using world = await leftWorld();
  const id = newId();
  const folder = join(world.data, "instances", id);
  await mkdir(folder);
  await writeFile(join(folder, "spec.json"), '{"kind":');
  const compute = await world.reopen();
  expect(await compute.list()).toEqual([]);
  expect(await world.remains(id)).toEqual([]);
});

/** An instance whose server died after making its folder, at the step that the test names. */
async function halfStarted(world: HostWorld, kind: InstanceKind = "worker") {
  const id = newId();
  const folder = new InstanceFolder(join(world.data, "instances", id));
  await folder.make(keptFrom(specOf(world, [], { kind }), realClock.now(), { segment: 1_000_000, gpus: [] }), []);
  const traceOfProgram = join(world.app, "trace");
  const launch = [...LAUNCH, folder.path, "", "1000000", "/bin/sh", "-c", `echo ran >${traceOfProgram}; exit 9`];
  const children = new AsyncDisposableStack();
  const run = async (command: readonly string[]) => {
    const child = spawn(command[0]!, command.slice(1), { detached: true, stdio: "ignore" });
    const exited = once(child, "exit");
    children.defer(async () => {
      child.kill("SIGKILL");
      await exited;
    });
    await once(child, "spawn");
    return { stop: () => child.kill("SIGSTOP"), goOn: () => child.kill("SIGCONT"), ended: exited, child };
  };
  return {
    id,
    folder,
    traceOfProgram,
    /** The launcher runs and has not written its identity. A launcher that was faster than the signal does not count. */
    async launcherBeforeItsFirstStep() {
      for (;;) {
        const launcher = await run(launch);
        launcher.stop();
        await until(() => isStopped(launcher.child.pid!));
        if (!(await readdir(folder.path)).includes("identity")) return launcher;
        sendSignal(-launcher.child.pid!, "SIGKILL");
        await launcher.ended;
        for (const name of ["identity", "exit"]) await rm(folder.file(name), { force: true });
      }
    },
    /** The process is still a copy of the server and has not become the launcher. */
    async launcherBeforeItIsOne() {
      const launcher = await run(["/bin/sh", "-c", 'kill -STOP $$; exec "$@"', "sh", ...launch]);
      await until(() => isStopped(launcher.child.pid!));
      return launcher;
    },
    [Symbol.asyncDispose]: () => children.disposeAsync(),
  };
}

const isStopped = async (pid: number) =>
  /\) [TZ] /.test(await readFile(`/proc/${pid}/stat`, "utf8").catch(() => ") Z "));

const watchdogOf = async ({ data }: HostWorld) =>
  parseStat(await readFile(join(data, "instances", ".watchdog"), "utf8"))!;

/** Resolves when a watchdog has looked around once more, or has ended. */
async function nextLook(watchdog: Identity): Promise<void> {
  const pause = await pauseOf(watchdog.pid);
  await until(async () => ![pause, undefined].includes(await pauseOf(watchdog.pid)) || !(await isAlive(watchdog)));
}

/** The process number of the sleep that a watchdog is in; undefined while it looks around. */
async function pauseOf(watchdog: number): Promise<number | undefined> {
  const [child] = numbersIn(await readFile(`/proc/${watchdog}/task/${watchdog}/children`, "utf8").catch(() => ""));
  const name = await readFile(`/proc/${child}/comm`, "utf8").catch(() => "");
  return name === "sleep\n" ? child : undefined;
}

/** Links, rules and control groups of the machine that carry the name of a data folder. */
async function named(key: string): Promise<string[]> {
  const parts = await Promise.all([
    readdir("/sys/class/net"),
    foldersBelow("/sys/fs/cgroup", 6),
    runTool("/usr/sbin/nft", ["list", "tables"]).then((text) => text.split("\n")),
    runTool("/usr/sbin/iptables", ["-S"]).then(
      (text) => text.split("\n"),
      () => [],
    ),
  ]);
  return parts.flat().filter((name) => name.includes(key));
}

/** Polls, since another process sends no notification. */
async function until(happened: () => Promise<boolean>): Promise<void> {
  while (!(await happened())) await sleep(realClock, 50);
}

test("what a program wrote is kept when the server dies while it is started again", async () => {
  await using world = await openHost();
  const id = newId();
  const steps = [{ count: "/tmp/boots" }, { exit: 3 }];
  const spec = specOf(world, steps, { kind: "pod" });
  await world.compute.start(id, spec);
  await ended(world.compute, id);
  await world.compute[Symbol.asyncDispose]();
  await new InstanceFolder(join(world.data, "instances", id)).beginAgain();
  const next = await world.reopen();
  const reason = "the server ended while it was started again";
  expect(await next.list()).toMatchObject([{ id, state: "exited", exit: { reason } }]);
  await next.again.start(id, spec);
  await ended(next, id);
  expect((await linesOf(next, id)).lines).toEqual(["1", "2"]);
});

test("the disk of what stays is held to its size, outlives a crash of its program, and leaves nothing", async (context) => {
  await using world = await openHost();
  if (!world.compute.volumeFolders.sizes) return context.skip("files cannot be mounted here");
  const id = newId();
  const limits = { vcpu: 1, memoryMb: 512, diskGb: 4 / 1024 };
  const steps = [{ count: "/tmp/boots" }, { save: "0", times: 5_000_000, in: "/tmp/large" }];
  const spec = specOf(world, steps, { kind: "pod", limits });
  await world.compute.start(id, spec);
  await ended(world.compute, id);
  const next = await world.reopen();
  await rmFile(world, id);
  await next.again.start(id, spec);
  await ended(next, id);
  const { lines } = await linesOf(next, id);
  expect([lines[0], lines.includes("2")]).toEqual(["1", true]);
  expect(lines.filter((line) => line.startsWith("Error: ENOSPC")).length).toBe(2);
  await next.remove(id);
  expect(await world.remains(id)).toEqual([]);
});

/** The first boot filled the disk, so the second could not write its count. */
const rmFile = (world: HostWorld, id: string) => rm(join(world.data, "instances", ".disks", id, "large"));
