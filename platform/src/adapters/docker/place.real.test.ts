/** What a container's program may use, whom it reaches, and which installation its container belongs to. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { dockerSpec, dockerWorld, openDriver, shell } from "../../../tests/docker-world.ts";
import { silentLog } from "../../kernel/log.ts";
import { StartRefused } from "../../ports/compute/compute.ts";
import { bring, ended, found, linesOf } from "../../ports/compute/conformance-world.ts";
import { runTool } from "../machine/forker.ts";
import { containerName, containerRequest, label } from "./container.ts";
import { bridgeName, networkName } from "./network.ts";

const STAYS = dockerSpec([{ write: "ready\n" }, { stayUntilAsked: 0 }]);

test.concurrent("a program has the limits, and no way to more rights", async () => {
  await using world = await dockerWorld();
  const limits = { vcpu: 0.5, memoryMb: 64, diskGb: 1 };
  const status = "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max /proc/self/status";
  await world.compute.start("limits", shell(`${status} 2>&1`, { limits }));
  const { lines } = await linesOf(world.compute, "limits");
  expect(lines).toContain(String(64 * 1024 * 1024));
  expect(lines).toContain("NoNewPrivs:\t1");
  // Bit 13 allows raw sockets, bit 27 allows creating device nodes.
  const rights = BigInt(`0x${lines.find((line) => line.startsWith("CapBnd"))!.split("\t")[1]}`);
  expect(rights & ((1n << 13n) | (1n << 27n))).toBe(0n);
  expect((await world.inspect("limits")).HostConfig).toMatchObject({
    NanoCpus: 500_000_000,
    MemorySwap: 64 * 1024 * 1024,
    PidsLimit: 4_096,
    RestartPolicy: { Name: "no" },
    AutoRemove: false,
  });
});

test.concurrent("more processors than the machine has are all of them", async () => {
  await using world = await dockerWorld();
  await world.compute.start("wide", dockerSpec([], { limits: { vcpu: 1_000, memoryMb: 64, diskGb: 1 } }));
  const [box] = await world.compute.capacity();
  expect((await world.inspect("wide")).HostConfig.NanoCpus).toBe(box!.vcpu * 1e9);
});

test.concurrent("an entrypoint and a command replace the image's own, each by itself", async () => {
  await using world = await dockerWorld();
  await world.compute.start("cmd", dockerSpec([], { cmd: ["--print", "1 + 1"] }));
  await world.compute.start("entrypoint", dockerSpec([], { entrypoint: ["/bin/busybox", "echo", "mine"], cmd: [] }));
  expect((await linesOf(world.compute, "cmd")).lines).toEqual(["2"]);
  expect((await linesOf(world.compute, "entrypoint")).lines).toEqual(["mine"]);
});

test.concurrent("a program that is not in the image ends at once, and its log says why", async () => {
  await using world = await dockerWorld();
  await world.compute.start("absent", dockerSpec([], { entrypoint: ["/no/such/program"] }));
  expect(await ended(world.compute, "absent")).toMatchObject({ code: 127 });
  expect((await linesOf(world.compute, "absent")).lines.join()).toContain("/no/such/program");
});

test.concurrent("what the engine refuses is refused with its words, and leaves nothing", async () => {
  await using world = await dockerWorld();
  const limits = { vcpu: 1, memoryMb: 1, diskGb: 1 };
  const start = world.compute.start("tiny", dockerSpec([], { limits }));
  await expect(start).rejects.toThrow(/memory limit/i);
  await expect(start).rejects.toBeInstanceOf(StartRefused);
  expect(await world.compute.list()).toEqual([]);
});

test.concurrent("a container reaches the server at the link host", async () => {
  await using world = await dockerWorld();
  const server = createServer((_, response) => response.end("the worker link"));
  server.listen(0, world.compute.link.host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await world.compute.link.open(port);
  await world.compute.start("caller", shell(`wget -q -O - http://${world.compute.link.host}:${port}/`));
  expect((await linesOf(world.compute, "caller")).lines).toEqual(["the worker link"]);
  server.close();
});

test.concurrent("containers do not reach each other, while the server reaches both", async () => {
  await using world = await dockerWorld();
  await world.compute.start("server", dockerSpec([{ echoOn: 8_080 }], { ports: [8_080] }));
  await linesOf(world.compute, "server", { limit: 1 });
  const { IPAddress } = (await world.inspect("server")).NetworkSettings.Networks[networkName(world.installation)];
  await world.compute.start("client", shell(`echo hello | nc -w 1 ${IPAddress} 8080 || echo unreachable`));
  expect((await linesOf(world.compute, "client")).lines).toContain("unreachable");
  (await world.compute.dial("server", 8_080)).destroy();
});

test.concurrent("the bridge has a name for firewall rules, and a network that was pruned is made again", async () => {
  await using world = await dockerWorld();
  const name = networkName(world.installation);
  const before = world.compute.link.host;
  expect((await world.api.call<{ Options: object }>("GET", `/networks/${name}`)).Options).toMatchObject({
    "com.docker.network.bridge.name": bridgeName(world.installation),
  });
  await world.api.call("DELETE", `/networks/${name}`);
  await bring(world.compute, STAYS.image);
  expect(world.compute.link.host).toBe(before);
  await world.compute.start("again", STAYS);
});

test.concurrent("the bridge's hardware address is its own: containers that come and go cut nobody off", async () => {
  await using world = await dockerWorld();
  const address = async () =>
    (await runTool("/usr/sbin/ip", ["link", "show", "dev", bridgeName(world.installation)])).match(/ether (\S+)/)![1];
  const alone = await address();
  for (const id of ["first", "second"]) await world.compute.start(id, STAYS);
  expect(await address()).toBe(alone);
  for (const id of ["first", "second"]) await world.compute.remove(id);
  expect(await address()).toBe(alone);
});

test.concurrent("images that are prepared at the same time make one network, as it should be", async () => {
  const warnings: object[] = [];
  await using world = await dockerWorld({ log: { ...silentLog, warn: (fields) => warnings.push(fields) } });
  const name = networkName(world.installation);
  await world.api.call("DELETE", `/networks/${name}`);
  await Promise.all(Array.from({ length: 5 }, () => bring(world.compute, STAYS.image)));
  expect(warnings).toEqual([]);
  const made = await world.api.call<object[]>("GET", "/networks", { query: { filters: { name: [`^${name}$`] } } });
  expect(made).toMatchObject([{ Options: { "com.docker.network.bridge.enable_icc": "false" } }]);
});

test.concurrent("containers of nobody and of another installation are not seen and not touched", async () => {
  await using world = await dockerWorld();
  await using other = await dockerWorld();
  await other.compute.start("theirs", STAYS);
  const body = { Image: STAYS.image, Entrypoint: ["/bin/sleep", "1000"] };
  await world.api.call("POST", "/containers/create", { query: { name: containerName("foreign") }, body });
  await world.api.call("POST", `/containers/${containerName("foreign")}/start`);
  for (const id of ["theirs", "foreign"]) {
    expect(await found(world.compute, id)).toBeUndefined();
    await expect(world.compute.start(id, STAYS)).rejects.toThrow("not of this installation");
    await world.compute.stop(id, 0);
    await world.compute.remove(id);
    await expect(world.compute.freezing!.freeze(id)).rejects.toThrow(id);
    expect((await linesOf(world.compute, id)).lines).toEqual([]);
    expect((await world.inspect(id)).State.Status).toBe("running");
  }
  await world.api.call("DELETE", `/containers/${containerName("foreign")}`, { query: { force: true } });
});

test.concurrent("one that a crash left between being made and being started is listed, and started when it is asked for", async () => {
  await using world = await dockerWorld();
  const { installation } = world;
  const place = {
    installation,
    network: networkName(installation),
    processors: 1,
    podman: false,
    gpus: [],
    limitsDisk: false,
  };
  await world.api.call("POST", "/containers/create", {
    query: { name: containerName("half") },
    body: containerRequest("half", STAYS, place),
  });
  const { exit } = (await found(world.compute, "half"))!;
  expect(exit).toMatchObject({ code: null, reason: "it was made and never started" });
  expect(await world.compute.start("half", STAYS)).toMatchObject({ state: "running" });
});

test.concurrent("an instance whose container someone else removes has ended", async () => {
  await using world = await dockerWorld();
  await world.compute.start("taken", STAYS);
  await linesOf(world.compute, "taken", { limit: 1 });
  const exit = ended(world.compute, "taken");
  await world.api.call("DELETE", `/containers/${containerName("taken")}`, { query: { force: true } });
  expect(await exit).toMatchObject({ code: null, signal: "SIGKILL" });
});

test.concurrent("removal is not told as an end, and the labels say whose a container is", async () => {
  await using world = await dockerWorld();
  const heard: string[] = [];
  world.compute.watch(({ id, state }) => heard.push(`${id} ${state}`));
  await world.compute.start("one", STAYS);
  expect((await world.inspect("one")).Config.Labels).toMatchObject({
    [label.installation]: world.installation,
    [label.instance]: "one",
    [label.kind]: "worker",
    [label.owner]: "endpoint",
    [label.account]: "account",
  });
  await world.compute.remove("one");
  await world.compute.start("two", dockerSpec([{ exit: 0 }]));
  await ended(world.compute, "two");
  expect(heard).toEqual(["one running", "two running", "two exited"]);
});

test.concurrent("a second driver of the same installation hears what the first does", async () => {
  await using world = await dockerWorld();
  await using second = await openDriver(world.installation);
  const heard = ended(second, "shared");
  await world.compute.start("shared", dockerSpec([{ exit: 3 }]));
  expect(await heard).toMatchObject({ code: 3 });
});
