/** Two drivers as one: an instance goes to the driver that runs its image, and is found there again. */
import { expect, test } from "vitest";
import { FakeClock } from "../../kernel/clock.ts";
import { isRepeatable, NEEDS_VOLUME } from "./again.ts";
import { ByImage } from "./by-image.ts";
import type { InstanceSpec } from "./compute.ts";
import { type GpuStock, ONLY_BOX } from "./compute.ts";
import { bring, linesOf } from "./conformance-world.ts";
import { FakeCompute, type FakeOptions } from "./fake-compute.ts";
import { FakeVolumes } from "./fake-volumes.ts";
import { DriverAway, ExecRefused } from "./refusal.ts";
import type { DiskWriters } from "./writers.ts";

function setup({ host: hostOptions = {}, containers: containerOptions = {} } = {} as Record<string, FakeOptions>) {
  const clock = new FakeClock();
  const host = new FakeCompute(clock, { linkHost: "127.0.0.1", ...hostOptions });
  const containers = new FakeCompute(clock, { linkHost: "172.17.0.1", ...containerOptions });
  return { host, containers, both: new ByImage({ host, containers }) };
}

const spec = (image: string): InstanceSpec => ({
  kind: "worker",
  account: "account",
  owner: "endpoint",
  image,
  entrypoint: [],
  cmd: [],
  env: {},
  limits: { vcpu: 1, memoryMb: 512, diskGb: 1 },
  ports: [80],
});

const idsOf = async (compute: FakeCompute) => (await compute.list()).map(({ id }) => id);

test("the machine's own files run on the host, every other image in a container", async () => {
  const { host, containers, both } = setup();
  const images = ["host", "host:/srv/app", "hostile/image:1", "registry.example/host:1", "alpine"];
  for (const [n, image] of images.entries()) await both.start(`i${n}`, spec(image));
  expect(await idsOf(host)).toEqual(["i0", "i1"]);
  expect(await idsOf(containers)).toEqual(["i2", "i3", "i4"]);
  expect((await both.list()).map(({ id }) => id).sort()).toEqual(["i0", "i1", "i2", "i3", "i4"]);
});

test("the instances of an image are listed also while the other driver is away", async () => {
  const { containers, both } = setup();
  await both.start("a", spec("host:/srv/app"));
  containers.fail("list", new Error("the engine is away"));
  expect((await both.list("host:/srv/app")).map(({ id }) => id)).toEqual(["a"]);
  await expect(both.list()).rejects.toThrow("the engine is away");
});

test("while the container engine is away, everything of the host is listed, and what writes to the disk there is ended", async () => {
  const ended: string[] = [];
  const writersOf = (writers: Partial<DiskWriters>) => ({
    list: async () => [{ id: "a", bytes: 1 }],
    end: async (id: string) => void ended.push(id),
    ...writers,
  });
  const { host, containers } = setup();
  const away = () => Promise.reject(new DriverAway("the engine is away"));
  const drivers = {
    host: Object.assign(host, { writers: writersOf({}) }),
    containers: Object.assign(containers, { writers: writersOf({ list: away, end: away }) }),
  };
  const both = new ByImage(drivers);
  await both.start("a", spec("host:/srv/app"));
  containers.fail("list", new DriverAway("the engine is away"));
  expect((await both.list()).map(({ id }) => id)).toEqual(["a"]);
  expect(await both.writers?.list()).toEqual([{ id: "a", bytes: 1 }]);
  await both.writers?.end("a", "the disk is full");
  expect(ended).toEqual(["a"]);
});

test("where the machine's own files are not run for an account, their images are refused with the reason and others are not", async () => {
  const { host, containers } = setup();
  const refusesHost = async (account: string) => (account === "owner" ? undefined : "not for you");
  const both = new ByImage({ host, containers, refusesHost });
  await expect(both.start("a", spec("host:/srv/app"))).rejects.toThrow("not for you");
  expect(await both.list()).toEqual([]);
  await both.start("b", { ...spec("host:/srv/app"), account: "owner" });
  await both.start("c", spec("alpine"));
});

test("of two drivers, only the Pods of the one that keeps disks on volumes need one to be started again", async () => {
  const { host, containers, both } = setup({ containers: { can: { needsVolume: true } } });
  for (const [id, image] of [
    ["a", "host:/srv/app"],
    ["b", "alpine"],
  ] as const) {
    await both.start(id, spec(image));
    for (const driver of [host, containers])
      if ((await idsOf(driver)).includes(id)) driver.instance(id).exit({ code: 1 });
  }
  expect(isRepeatable(both.again, spec("host:/srv/app"))).toBe(true);
  expect(await both.again!.start("a", spec("host:/srv/app"))).toMatchObject({ state: "running" });
  await expect(both.again!.start("b", spec("alpine"))).rejects.toThrow(NEEDS_VOLUME);
});

test("networks are reserved where the members of an image run, and given back wherever they were", async () => {
  const { host, containers, both } = setup();
  const ask = (id: string, image: string) => ({ account: "account", id, image, names: ["node-0"] });
  await both.networks!.reserve(ask("a", "host:/srv/app"));
  await both.networks!.reserve(ask("b", "alpine"));
  const named = (id: string) => [{ account: "account", id }];
  expect([await host.networks!.list(), await containers.networks!.list()]).toEqual([named("a"), named("b")]);
  expect(await both.networks!.list()).toEqual([...named("a"), ...named("b")]);
  for (const id of ["a", "b"]) await both.networks!.release({ account: "account", id });
  expect(await both.networks!.list()).toEqual([]);
});

test("an image is prepared where it will run", async () => {
  const { containers, both } = setup();
  containers.refuse("no engine");
  await bring(both, "host:/srv/app");
  await expect(bring(both, "alpine")).rejects.toThrow("no engine");
});

test("each verb reaches the driver that has the instance, also in the next process of the server", async () => {
  const before = setup();
  await before.both.start("h", spec("host"));
  await before.both.start("c", spec("alpine"));
  before.containers.instance("c").write("hello\n");
  before.containers.instance("c").listen(80, () => {});
  const containers = before.containers.restarted();
  const both = new ByImage({ host: before.host.restarted(), containers });
  await both.freezing!.freeze("c");
  expect(containers.instance("c").view().state).toBe("frozen");
  await both.freezing!.thaw("c");
  (await both.dial("c", 80)).destroy();
  await both.stop("c", 1_000);
  expect((await linesOf(both, "c")).lines).toEqual(["hello"]);
  await both.remove("c");
  expect((await both.list()).map(({ id }) => id)).toEqual(["h"]);
});

test("further programs run where the instance is, and its use is asked for there", async () => {
  const { host, containers, both } = setup();
  await both.start("h", spec("host"));
  await both.start("c", spec("alpine"));
  for (const [driver, id] of [
    [host, "h"],
    [containers, "c"],
  ] as const) {
    driver.instance(id).onExec = (program) => program.end({ code: 5 });
    expect(await (await both.exec!.run(id, { cmd: ["anything"] })).exit).toMatchObject({ code: 5 });
  }
  await expect(both.exec!.run("unknown", { cmd: ["anything"] })).rejects.toThrow(ExecRefused);
  expect(await both.stats!.of("unknown")).toBeUndefined();
});

test("unknown instances are no error to stop, remove and read, and one to dial and freeze", async () => {
  const { both } = setup();
  await both.stop("unknown", 0);
  await both.remove("unknown");
  expect((await linesOf(both, "unknown")).lines).toEqual([]);
  await expect(both.dial("unknown", 80)).rejects.toThrow("unknown");
  await expect(both.freezing!.freeze("unknown")).rejects.toThrow("unknown");
});

test("changes on both are told, until nobody listens", async () => {
  const { both } = setup();
  const heard: string[] = [];
  const stop = both.watch(({ id, state }) => heard.push(`${id} ${state}`));
  await both.start("h", spec("host"));
  await both.start("c", spec("alpine"));
  stop();
  await both.stop("h", 0);
  expect(heard).toEqual(["h running", "c running"]);
});

test("a list that one driver cannot give is no list", async () => {
  const { containers, both } = setup();
  containers.fail("list", new Error("engine away"));
  await expect(both.list()).rejects.toThrow("engine away");
});

test("an instance on the host starts while the engine is away", async () => {
  const { containers, both } = setup();
  containers.fail("list", new Error("engine away"));
  expect(await both.start("h", spec("host"))).toMatchObject({ state: "running" });
});

test("the machine counts once, and so do devices that both know", async () => {
  const gpu = (type: string) => ({ type, count: 2, virtual: false });
  const { both } = setup({
    host: { capacity: { vcpu: 8, memoryMb: 1_000, diskGb: 10, gpus: [gpu("a"), gpu("b")] } },
    containers: { capacity: { vcpu: 4, memoryMb: 2_000, diskGb: 5, gpus: [gpu("b"), gpu("c")], ceilings: true } },
  });
  const gpus = expect.toSatisfy(
    (all: GpuStock[]) =>
      all
        .map(({ type }) => type)
        .toSorted()
        .join() === "a,b,c",
  );
  expect(await both.capacity()).toEqual([{ id: ONLY_BOX, vcpu: 8, memoryMb: 2_000, diskGb: 10, gpus, ceilings: true }]);
});

test("volumes are the same for both, and one that either of them uses stays", async () => {
  const volumes = new FakeVolumes(new FakeClock(), new Map(), { sizes: true, shared: false });
  const { containers, both } = setup({ host: { volumes }, containers: { volumes } });
  await both.volumes!.create({ id: "v", sizeGb: 1 });
  const mounts = [{ volume: "v", path: "/workspace" }];
  await both.start("h", { ...spec("host"), mounts });
  await both.start("c", { ...spec("alpine"), mounts });
  await both.remove("h");
  await expect(both.volumes!.remove("v")).rejects.toThrow("mounted by c");
  await containers.stop("c", 0);
  await both.volumes!.grow("v", 2);
  expect(await both.volumes!.list()).toEqual([{ id: "v", sizeGb: 2, sizeEnforced: true }]);
  expect(await both.volumes!.usage("v")).toEqual({ sizeGb: 2, usedBytes: 0 });
  await both.volumes!.remove("v");
  expect(await containers.volumes!.list()).toEqual([]);
});

test("volumes are those of the driver that has some", async () => {
  const { containers, both } = setup({ host: { can: { volumes: false } } });
  await both.volumes!.create({ id: "v", sizeGb: 1 });
  expect(await containers.volumes!.list()).toEqual([{ id: "v", sizeGb: 1, sizeEnforced: true }]);
});

test("it can what either can, and an instance of the other is told why not; networks are for both", async () => {
  const { containers, both } = setup({ host: { can: { freezing: false, exec: false, networks: false } } });
  await both.start("h", spec("host"));
  await both.start("c", spec("alpine"));
  await both.freezing!.freeze("c");
  await expect(both.freezing!.freeze("h")).rejects.toThrow("this driver cannot freeze");
  await expect(both.exec!.run("h", { cmd: ["true"] })).rejects.toThrow(ExecRefused);
  expect(both.networks).toBeUndefined();
  expect(both.driverOf("alpine")).toBe(containers);
  expect(both.driverOf("alpine").link!.host).toBe("172.17.0.1");
  expect(both.link!.host).toBe("127.0.0.1");
});

test("it lacks what neither can", () => {
  const [host, containers] = [1, 2].map(() => ({
    can: { freezing: false, again: false, stats: false, writers: false },
  }));
  const { both } = setup({ host: host!, containers: containers! });
  expect([both.freezing, both.again, both.stats, both.writers]).toEqual([undefined, undefined, undefined, undefined]);
});
