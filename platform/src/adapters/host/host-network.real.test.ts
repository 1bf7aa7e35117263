/** The network of an instance on the host: its own loopback, the networks beyond the machine, and the way back. */
import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startInOwnNetwork } from "../../../tests/child.ts";
import { DriverProcess, leftWorld } from "../../../tests/driver-world.ts";
import { realClock } from "../../kernel/clock.ts";
import { realRandom } from "../../kernel/random.ts";
import { ended, linesOf, newId, specOf } from "../../ports/compute/conformance-world.ts";
import { runTool } from "../machine/forker.ts";
import { hardwareAddressIn } from "../machine/links.ts";
import { BridgeNetwork, bridgeName } from "./bridge-network.ts";
import { keyOf } from "./host-options.ts";
import { type HostWorld, openHost } from "./host-world.ts";
import { missingForTests } from "./machine.ts";

const missing = await missingForTests();
const NOTHING = { reachable: [], doors: [], nameServers: [] };
let world: HostWorld;

beforeEach(({ skip }) => skip(missing !== undefined, missing));

beforeAll(async () => {
  if (!missing) world = await openHost();
});

afterAll(() => world?.[Symbol.asyncDispose]());

test("a program that listens on its own loopback alone is dialled all the same, and only where it listens", async () => {
  const id = newId();
  const env = { LISTEN_HOST: "127.0.0.1" };
  await world.compute.start(id, specOf(world, [{ echoOn: 80 }], { env, ports: [80, 81] }));
  await linesOf(world.compute, id, { limit: 1 });
  for (const text of ["first", "second"]) {
    const connection = await world.compute.dial(id, 80);
    connection.write(text);
    expect(String((await once(connection, "data"))[0])).toBe(text);
    connection.destroy();
  }
  await expect(world.compute.dial(id, 81)).rejects.toThrow("81");
  await world.compute.remove(id);
  expect(await world.remains(id)).toEqual([]);
});

test("the world beyond the machine is reached, and does not reach back", async () => {
  await using beyond = await anotherMachine();
  const id = newId();
  const spec = specOf(world, []);
  await world.compute.start(id, { ...spec, entrypoint: ["node"], cmd: ["-e", askScript(beyond.address)] });
  await ended(world.compute, id);
  // The other machine sees this machine as the caller, not the instance.
  expect((await linesOf(world.compute, id)).lines).toEqual([beyond.neighbour]);
  await world.compute.remove(id);
});

test("what is not public is out of reach but where the operator says otherwise", async () => {
  await using beyond = await anotherMachine();
  const egress = { reachable: [], doors: [{ address: beyond.address, port: 9000 }], nameServers: [] };
  for (const [allowed, expected] of [
    [NOTHING, "ECONNREFUSED"],
    [egress, beyond.neighbour],
  ] as const) {
    await using strict = await openHost({ egress: allowed });
    const id = newId();
    const cmd = ["-e", askScript(beyond.address)];
    await strict.compute.start(id, { ...specOf(strict, []), entrypoint: ["node"], cmd });
    await ended(strict.compute, id);
    expect((await linesOf(strict.compute, id)).lines).toEqual([expected]);
    await strict.compute.remove(id);
  }
});

test("a published port is reached from another machine, which reaches nothing else of the instance, and by no neighbour", async () => {
  await using beyond = await anotherMachine();
  await using strict = await openHost({ egress: NOTHING });
  const [id, neighbour] = [newId(), newId()];
  const spec = specOf(strict, [{ echoOn: 80 }], { ports: [80], publish: [{ port: 80 }] });
  const { published } = await strict.compute.start(id, spec);
  const { outside } = published![0]!;
  await linesOf(strict.compute, id, { limit: 1 });
  expect(await beyond.ask(beyond.neighbour, outside)).toBe("hello");
  const { address } = JSON.parse(await readFile(join(strict.data, "instances", id, "spec.json"), "utf8"));
  const own = strict.compute.link.host.replace(/\d+$/, String(address));
  await beyond.ip(`route add ${own}/32 via ${beyond.neighbour}`);
  for (const port of [80, outside]) expect(await beyond.ask(own, port)).toBe("ECONNREFUSED");
  const targets = [strict.compute.link.host, beyond.neighbour].map((host) => [host, outside] as const);
  const cmd = ["-e", asks(targets)];
  await strict.compute.start(neighbour, { ...specOf(strict, []), entrypoint: ["node"], cmd });
  expect((await linesOf(strict.compute, neighbour)).lines).toEqual(["ECONNREFUSED", "ECONNREFUSED"]);
  await strict.compute.remove(id);
  expect(await beyond.ask(beyond.neighbour, outside)).toBe("ECONNREFUSED");
  const { key } = keyOf(join(strict.data, "instances"));
  expect(await runTool("/usr/sbin/nft", ["list", "tables"])).not.toContain(`millrace_${key}_ports`);
});

test("a port that somebody of the machine listens on is not given to an instance", async () => {
  const blocker = createServer();
  await once(blocker.listen(0, "0.0.0.0"), "listening");
  const { port } = blocker.address() as AddressInfo;
  await using narrow = await openHost({ publishedPorts: { first: port, last: port + 1 } });
  const start = () =>
    narrow.compute.start(newId(), specOf(narrow, [{ stayUntilAsked: 0 }], { publish: [{ port: 80 }] }));
  expect((await start()).published).toEqual([{ inside: 80, outside: port + 1 }]);
  await expect(start()).rejects.toThrow(`no port of ${port} to ${port + 1} is free`);
  blocker.close();
});

test("other users of the machine do not reach in", async () => {
  const id = newId();
  await world.compute.start(id, specOf(world, [{ echoOn: 80 }], { ports: [80] }));
  await linesOf(world.compute, id, { limit: 1 });
  const { address } = JSON.parse(await readFile(join(world.data, "instances", id, "spec.json"), "utf8"));
  const host = world.compute.link.host.replace(/\d+$/, String(address));
  const script = `require("node:net").connect(80, "${host}", () => process.exit(7)).on("error", () => process.exit(5))`;
  const codes = [0, 65_534].map(async (uid) => {
    const child = spawn(process.execPath, ["-e", script], { uid, gid: uid, cwd: "/", stdio: "ignore" });
    return (await once(child, "exit"))[0];
  });
  expect(await Promise.all(codes)).toEqual([7, 5]);
  await world.compute.remove(id);
});

test("rules that somebody flushed come back", async () => {
  const { key } = keyOf(join(world.data, "instances"));
  await runTool("/usr/sbin/nft", ["delete", "table", "inet", `millrace_${key}`]);
  const network = await BridgeNetwork.open({
    key,
    file: join(world.data, "instances", ".network"),
    seed: 1,
    clock: realClock,
    egress: NOTHING,
  });
  await network.openLink(4_711);
  await runTool("/usr/sbin/nft", ["delete", "table", "inet", `millrace_${key}`]);
  await network.renew();
  expect(await runTool("/usr/sbin/nft", ["list", "table", "inet", `millrace_${key}`])).toContain("4711");
});

test("when a worker leaves, the connections of its neighbours go on", async () => {
  await using link = await linkServer(world);
  const ids = Array.from({ length: 3 }, () => newId());
  for (const id of ids) await world.compute.start(id, link.clientSpec(id));
  await link.hasAll(ids);
  const before = await linkAddress(bridge(world));
  // A bridge without a fixed address takes the lowest address of its ports, and another one when that port goes.
  const [lowest, ...others] = await sortedByLink(world, ids);
  await world.compute.remove(lowest!);
  expect(await linkAddress(bridge(world))).toBe(before);
  for (const id of others) expect(await link.ask(id, "still there?")).toBe("still there?");
  await Promise.all(others.map((id) => world.compute.remove(id)));
});

test("a bridge of a release that left it its own choice keeps the address that it has", async () => {
  await using old = await oldBridge();
  const [first, second] = [await old.plug("02:00:00:00:00:02"), await old.plug("02:00:00:00:00:01")];
  const before = await linkAddress(old.bridge);
  expect(before).toBe(second.address);
  const network = await BridgeNetwork.open({
    key: old.key,
    file: old.file,
    seed: 1,
    clock: realClock,
    egress: NOTHING,
  });
  await second.unplug();
  expect(await linkAddress(old.bridge)).toBe(before);
  await first.unplug();
  expect(await linkAddress(old.bridge)).toBe(before);
  await network.close();
});

test("a bridge that a killed server left half made is completed", async () => {
  await using old = await oldBridge();
  const network = await BridgeNetwork.open({
    key: old.key,
    file: old.file,
    seed: 1,
    clock: realClock,
    egress: NOTHING,
  });
  expect(await runTool("/usr/sbin/ip", ["-4", "address", "show", "up", "dev", old.bridge])).toContain(
    ` ${network.linkHost}/`,
  );
  await network.close();
});

test("a bridge is found where `/sys` shows the links of another network", async () => {
  // As in a container that has a network of its own and sees the machine's `/sys`.
  await using left = await leftWorld();
  const setUp = `ip link set lo up; ip link add name ${bridge(left)} type bridge; exec "$@"`;
  const driver = await DriverProcess.open(left.data, 60, ["unshare", "--net", "--", "sh", "-c", setUp, "sh"]);
  const id = newId();
  await driver.start(id, { ...specOf(left, []), entrypoint: [], cmd: ["sh", "-c", "cat /proc/net/dev"] });
  await driver.kill();
  const { lines } = await linesOf(await left.reopen(), id);
  expect(lines.join()).toContain("eth0:");
  await left.compute.remove(id);
});

test("an instance that takes the place of another is reached at once", async () => {
  const neighbour = newId();
  await world.compute.start(neighbour, specOf(world, [{ stayUntilAsked: 0 }]));
  const listens = () => specOf(world, [{ echoOn: 80 }], { ports: [80] });
  for (const text of ["the first", "its successor"]) {
    const id = newId();
    await world.compute.start(id, listens());
    await linesOf(world.compute, id, { limit: 1 });
    const connection = await soon(world.compute.dial(id, 80));
    connection.write(text);
    expect(String((await soon(once(connection, "data")))[0])).toBe(text);
    connection.destroy();
    await world.compute.remove(id);
  }
  await world.compute.remove(neighbour);
});

/** Prints the answer of the other machine, or why it is unreachable. */
const askScript = (address: string) => `const socket = require("node:net").connect(9000, "${address}");
    socket.on("data", (text) => { console.log(String(text)); process.exit(); }).on("error", ({ code }) => { console.log(code); process.exit(); });`;

/** Prints for each target its answer, or why there is none. */
const asks = (targets: readonly (readonly [host: string, port: number])[]) => `
  const { connect } = require("node:net");
  const ask = ([host, port]) => new Promise((done) => {
    const socket = connect({ host, port, timeout: 5000 });
    socket.write("hello");
    socket.on("data", (text) => done(String(text))).on("timeout", () => done("silent")).on("error", ({ code }) => done(code));
  });
  Promise.all(${JSON.stringify(targets)}.map(ask)).then((lines) => { console.log(lines.join("\\n")); process.exit(); });`;

const bridge = ({ data }: HostWorld) => bridgeName(keyOf(join(data, "instances")).key);
const linkAddress = async (link: string) =>
  hardwareAddressIn(await runTool("/usr/sbin/ip", ["-o", "link", "show", "dev", link]))!;

/** The machine asks again who has an address after 7 s at the earliest. An answer that comes sooner shows that nothing was lost. */
const soon = <T>(act: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("it is not reached")), 5_000);
    act.then(resolve, reject).finally(() => clearTimeout(timer));
  });

/** Instances sorted by the hardware address of their ports at the bridge, lowest first. */
async function sortedByLink({ data, ...world }: HostWorld, ids: readonly string[]): Promise<string[]> {
  const addresses = new Map<string, string>();
  for (const id of ids) {
    const { address } = JSON.parse(await readFile(join(data, "instances", id, "spec.json"), "utf8"));
    addresses.set(id, await linkAddress(`${bridge({ data, ...world })}v${address}`));
  }
  return [...ids].sort((one, other) => (addresses.get(one)! < addresses.get(other)! ? -1 : 1));
}

/** A server on the link's address, and instances that connect to it, send their id and echo what they receive. */
async function linkServer({ compute, ...world }: HostWorld) {
  const connections = new Map<string, Socket>();
  const came = new EventEmitter();
  const server = createServer((socket) =>
    socket
      .on("error", () => {})
      .once("data", (id) => {
        connections.set(String(id), socket);
        came.emit("one");
      }),
  );
  await once(server.listen(0, compute.link.host), "listening");
  const { port } = server.address() as AddressInfo;
  await compute.link.open(port);
  return {
    clientSpec(id: string) {
      const script = `const socket = require("node:net").connect(${port}, "${compute.link.host}"); socket.write("${id}"); socket.pipe(socket)`;
      return { ...specOf({ compute, ...world }, []), entrypoint: ["node"], cmd: ["-e", script] };
    },
    async hasAll(ids: readonly string[]) {
      while (!ids.every((id) => connections.has(id))) await once(came, "one");
    },
    async ask(id: string, text: string) {
      const answer = soon(once(connections.get(id)!, "data"));
      connections.get(id)!.write(text);
      return String((await answer)[0]);
    },
    async [Symbol.asyncDispose]() {
      for (const socket of connections.values()) socket.destroy();
      server.close();
    },
  };
}

/** A bridge as an earlier release made it, without fixed addresses. */
async function oldBridge() {
  const key = Buffer.from(realRandom.bytes(3)).toString("hex");
  const folder = await mkdtemp(join(tmpdir(), "millrace-network-"));
  const ip = (words: string) => runTool("/usr/sbin/ip", words.split(" "));
  await ip(`link add name ${bridgeName(key)} type bridge`);
  return {
    key,
    bridge: bridgeName(key),
    file: join(folder, "network"),
    async plug(address: string) {
      const name = `mt${Buffer.from(realRandom.bytes(4)).toString("hex")}`;
      await ip(`link add name ${name} address ${address} master ${bridgeName(key)} type veth peer name ${name}p`);
      return { address, unplug: () => ip(`link delete ${name}`) };
    },
    async [Symbol.asyncDispose]() {
      await ip(`link delete ${bridgeName(key)}`).catch(() => {});
      await rm(folder, { recursive: true });
    },
  };
}

/** A namespace that plays another machine: it tells every caller the address that the connection comes from. */
async function anotherMachine() {
  const link = `mt${newId().slice(-8)}`;
  const [neighbour, address] = ["198.51.100.1", "198.51.100.2"];
  const program = `require("node:net").createServer((socket) => socket.end(socket.remoteAddress)).listen(9000, "0.0.0.0", () => console.log("ready"))`;
  const child = await startInOwnNetwork(program, async (pid) => {
    const lines = [
      `link add name ${link} type veth peer name eth0 netns ${pid}`,
      `address add ${neighbour}/30 dev ${link}`,
      `link set dev ${link} up`,
    ];
    await runTool("/usr/sbin/ip", ["-batch", "-"], `${lines.join("\n")}\n`);
    const inside = [`address add ${address}/30 dev eth0`, "link set dev eth0 up"];
    await runTool("/usr/bin/nsenter", [`--net=/proc/${pid}/ns/net`, "ip", "-batch", "-"], `${inside.join("\n")}\n`);
  });
  const enter = (...command: string[]) => runTool("/usr/bin/nsenter", [`--net=/proc/${child.pid}/ns/net`, ...command]);
  return {
    address,
    neighbour,
    ip: (words: string) => enter("ip", ...words.split(" ")),
    ask: async (host: string, port: number) => (await enter(process.execPath, "-e", asks([[host, port]]))).trim(),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await runTool("/usr/sbin/ip", ["link", "delete", link]).catch(() => {});
    },
  };
}
