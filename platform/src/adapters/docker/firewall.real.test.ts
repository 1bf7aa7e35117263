/** Containers reach the internet and the worker link. On the machine, only the server reaches them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, inject, test } from "vitest";
import { startInOwnNetwork } from "../../../tests/child.ts";
import { dockerSpec, dockerWorld, openDriver } from "../../../tests/docker-world.ts";
import { realClock } from "../../kernel/clock.ts";
import { silentLog } from "../../kernel/log.ts";
import { linesOf } from "../../ports/compute/conformance-world.ts";
import { INTERNET_ALONE, nameServersOf } from "../../ports/compute/egress.ts";
import { runTool } from "../machine/forker.ts";
import { Isolation } from "../machine/isolation.ts";
import { label } from "./container.ts";
import { ContainerNetwork, tableName } from "./container-network.ts";
import { Engine } from "./engine.ts";
import { networkName } from "./network.ts";

const PORT = 9_000;
const PUBLIC = "93.184.215.14";
const SPECIAL = ["10.250.251.252", "100.100.100.200", "169.254.169.254", "192.168.250.251"];

const program = (script: string) => dockerSpec([], { entrypoint: ["/bin/node"], cmd: ["-e", script] });

/** Prints for each address whether it answers, and what a name resolves to. */
const asks = (addresses: readonly string[], { names = true } = {}) => `
  const { connect } = require("node:net");
  const ask = (to) => new Promise((done) => {
    const [host, port] = to.split(" ");
    const socket = connect({ host, port, timeout: 5000 });
    socket.write("hello");
    socket.on("data", () => done(to + " reached")).on("timeout", () => done(to + " silent"));
    socket.on("error", ({ code }) => done(to + " " + code));
  });
  const name = () => require("node:dns").promises.resolve4("name.example").then(String, ({ code }) => code);
  Promise.all([...${JSON.stringify(addresses)}.map(ask), ...(${names} ? [name()] : [])]).then((lines) => {
    console.log(lines.join("\\n"));
    process.exit();
  });`;

test("containers reach the internet, names and the worker link, and nothing else around the machine", async () => {
  const nameServers = await nameServersOf();
  // The engine uses 8.8.8.8 where the machine names no name servers.
  await using beyond = await anotherMachine([PUBLIC, ...SPECIAL, ...new Set([...nameServers, "8.8.8.8"])]);
  const allowed = SPECIAL[3]!;
  const egress = { reachable: [`${allowed}/32` as const], doors: [], nameServers };
  await using world = await dockerWorld({ egress });
  const linkHost = world.compute.link.host;
  await using link = await listen(linkHost);
  await using other = await listen("0.0.0.0");
  await world.compute.link.open(link.port);
  const far = [PUBLIC, ...SPECIAL].map((address) => `${address} ${PORT}`);
  const near = [`${linkHost} ${link.port}`, `${linkHost} ${other.port}`, `${beyond.neighbour} ${other.port}`];
  await world.compute.start("walled-asks", program(asks([...far, ...near])));
  const refused = (to: string) => `${to} ECONNREFUSED`;
  expect((await linesOf(world.compute, "walled-asks")).lines).toEqual([
    `${far[0]} reached`,
    ...far.slice(1, -1).map(refused),
    `${far.at(-1)} reached`,
    `${near[0]} reached`,
    ...near.slice(1).map(refused),
    PUBLIC,
  ]);
});

test("a member of a group reaches the internet and the worker link as others, and nothing of the machine by the group's bridge", async () => {
  const nameServers = await nameServersOf();
  await using beyond = await anotherMachine([PUBLIC, ...SPECIAL, ...new Set([...nameServers, "8.8.8.8"])]);
  await using world = await dockerWorld({ egress: { ...INTERNET_ALONE, nameServers } });
  const linkHost = world.compute.link.host;
  await using link = await listen(linkHost);
  await using other = await listen("0.0.0.0");
  await world.compute.link.open(link.port);
  const group = { id: "g", name: "node-0" };
  await world.compute.start("walled-member", { ...program("setInterval(() => {}, 1000)"), group });
  const [member] = await world.compute.list();
  const machine = member!.address!.replace(/\d+$/, "1");
  const asked = [
    `${PUBLIC} ${PORT}`,
    `${linkHost} ${link.port}`,
    `${machine} ${other.port}`,
    `${beyond.neighbour} ${other.port}`,
  ];
  await world.compute.start("walled-asks", { ...program(asks(asked)), group: { id: "g", name: "node-1" } });
  expect((await linesOf(world.compute, "walled-asks")).lines).toEqual([
    ...asked.slice(0, 2).map((to) => `${to} reached`),
    ...asked.slice(2).map((to) => `${to} ECONNREFUSED`),
    PUBLIC,
  ]);
});

test("what a killed server left of a group goes with the next one, unless it has a member", async () => {
  await using world = await dockerWorld();
  await world.compute.start("member", {
    ...dockerSpec([{ stayUntilAsked: 0 }]),
    group: { id: "kept", name: "node-0" },
  });
  const left = `millrace-${world.installation}-left`;
  const labels = { [label.installation]: world.installation, [label.group]: "left" };
  await world.api.call("POST", "/networks/create", { body: { Name: left, Labels: labels } });
  await using next = await openDriver(world.installation);
  const filters = { label: [`${label.installation}=${world.installation}`, label.group] };
  const networks = await world.api.call<{ Name: string }[]>("GET", "/networks", { query: { filters } });
  expect(networks.map(({ Name }) => Name)).not.toContain(left);
  expect(networks).toHaveLength(1);
  await next.remove("member");
});

test("other users of the machine do not reach in, and the server does", async () => {
  await using world = await dockerWorld();
  await world.compute.start("walled", dockerSpec([{ echoOn: 8_080 }], { ports: [8_080] }));
  await linesOf(world.compute, "walled", { limit: 1 });
  const { IPAddress } = (await world.inspect("walled")).NetworkSettings.Networks[networkName(world.installation)];
  const script = `require("node:net").connect(8080, "${IPAddress}", () => process.exit(7)).on("error", () => process.exit(5))`;
  const codes = [0, 65_534].map(async (uid) => {
    const child = spawn(process.execPath, ["-e", script], { uid, gid: uid, cwd: "/", stdio: "ignore" });
    return (await once(child, "exit"))[0];
  });
  expect(await Promise.all(codes)).toEqual([7, 5]);
  (await world.compute.dial("walled", 8_080)).destroy();
});

test("a published port is reached from another machine, and by no other container", async () => {
  await using beyond = await anotherMachine([SPECIAL[3]!]);
  await using world = await dockerWorld();
  const spec = dockerSpec([{ echoOn: 8_080 }], { publish: [{ port: 8_080 }] });
  const { published } = await world.compute.start("open", spec);
  const { outside } = published![0]!;
  await linesOf(world.compute, "open", { limit: 1 });
  expect(await beyond.ask(beyond.neighbour, outside)).toBe("reached");
  const { IPAddress } = (await world.inspect("open")).NetworkSettings.Networks[networkName(world.installation)];
  const targets = [`${world.compute.link.host} ${outside}`, `${beyond.neighbour} ${outside}`, `${IPAddress} 8080`];
  await world.compute.start("neighbour", program(asks(targets, { names: false })));
  const { lines } = await linesOf(world.compute, "neighbour");
  expect(lines.filter((line) => line.endsWith("reached"))).toEqual([]);
  await world.compute.remove("open");
  expect(await beyond.ask(beyond.neighbour, outside)).toBe("ECONNREFUSED");
});

test("a port that another program has is left to it", async () => {
  await using other = await listen("0.0.0.0");
  const publishedPorts = { first: other.port, last: other.port + 1 };
  await using world = await dockerWorld({ publishedPorts });
  const spec = dockerSpec([{ stayUntilAsked: 0 }], { publish: [{ port: 80 }] });
  expect((await world.compute.start("one", spec)).published).toEqual([{ inside: 80, outside: other.port + 1 }]);
  await expect(world.compute.start("two", spec)).rejects.toThrow(/no port of/);
});

test("rules that somebody flushed come back, and go with the network", async () => {
  await using world = await dockerWorld();
  const { installation } = world;
  const engine = new Engine([inject("dockerSocket")], realClock);
  await using network = new ContainerNetwork({
    engine,
    isolation: new Isolation({ leave: "nobody", isOwners: async () => true }),
    installation,
    egress: INTERNET_ALONE,
    clock: realClock,
    log: silentLog,
  });
  await network.ensure();
  await network.openLink(4_711);
  const nft = (words: string) => runTool("/usr/sbin/nft", words.split(" "));
  const table = `table inet ${tableName(installation)}`;
  for (const undo of ["delete", "flush"]) {
    await nft(`${undo} ${table}`);
    await network.renew();
    expect(await nft(`list ${table}`)).toContain("4711");
  }
  await world.api.call("DELETE", `/networks/${networkName(installation)}`);
  await network.renew();
  await expect(nft(`list ${table}`)).rejects.toThrow();
});

async function listen(host: string) {
  const server = createServer((socket) => socket.end("hello"));
  await once(server.listen(0, host), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
    },
  };
}

/** A network namespace that plays all other machines: it greets every connection and resolves every name to one address. */
async function anotherMachine(addresses: readonly string[]) {
  const [link, neighbour] = ["millrace-beyond", "203.0.113.1"];
  const record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...PUBLIC.split(".").map(Number)];
  const script = `
    const { createSocket } = require("node:dgram");
    for (const own of ${JSON.stringify(addresses)}) {
      const socket = createSocket("udp4").on("message", (question, { port, address }) => {
        const head = Buffer.from([...question.subarray(0, 2), 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        const asked = question.subarray(12, question.indexOf(0, 12) + 5);
        socket.send(Buffer.concat([head, asked, Buffer.from(${JSON.stringify(record)})]), port, address);
      });
      // Each answers from its own address.
      socket.bind(53, own);
    }
    require("node:net").createServer((one) => one.end("hello")).listen(${PORT}, "0.0.0.0", () => console.log("ready"));`;
  const ip = (lines: readonly string[], ...enter: string[]) =>
    runTool("/usr/bin/env", [...enter, "ip", "-batch", "-"], `${lines.join("\n")}\n`);
  const child = await startInOwnNetwork(script, async (pid) => {
    await ip([
      `link add name ${link} type veth peer name eth0 netns ${pid}`,
      `address add ${neighbour}/32 dev ${link}`,
      `link set dev ${link} up`,
      ...addresses.map((address) => `route add ${address}/32 dev ${link}`),
    ]);
    const inside = addresses.map((address) => `address add ${address}/32 dev eth0`);
    const up = ["link set dev eth0 up", `route add ${neighbour}/32 dev eth0`];
    await ip([...inside, ...up], "nsenter", `--net=/proc/${pid}/ns/net`);
  });
  const asking = (host: string, port: number) => `
    const socket = require("node:net").connect({ host: "${host}", port: ${port}, timeout: 5000 });
    const end = (text) => { console.log(text); process.exit(); };
    socket.write("hello");
    socket.on("data", () => end("reached")).on("timeout", () => end("silent")).on("error", ({ code }) => end(code));`;
  return {
    neighbour,
    ask: async (host: string, port: number) => {
      const enter = [`--net=/proc/${child.pid}/ns/net`, process.execPath, "-e", asking(host, port)];
      return (await runTool("/usr/bin/nsenter", enter)).trim();
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await runTool("/usr/bin/env", ["ip", "link", "delete", link]).catch(() => {});
    },
  };
}
