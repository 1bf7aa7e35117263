/** The network of an instance on the host: its own loopback, the world beyond the machine, and the way back. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { realClock } from "../../../kernel/clock.ts";
import { ended, linesOf, newId, specOf } from "../conformance-world.ts";
import { BridgeNetwork } from "./bridge-network.ts";
import { keyOf } from "./host-compute.ts";
import { type HostWorld, openHost } from "./host-world.ts";
import { missingForTests } from "./machine.ts";
import { runTool } from "./tools.ts";

const missing = await missingForTests();
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
  const script = `const socket = require("node:net").connect(9000, "${beyond.address}");
    socket.on("data", (text) => { console.log(String(text)); process.exit(); }).on("error", ({ code }) => { console.log(code); process.exit(); });`;
  const spec = specOf(world, []);
  await world.compute.start(id, { ...spec, entrypoint: ["node"], cmd: ["-e", script] });
  await ended(world.compute, id);
  // What it sees of the caller is the machine, not the instance.
  expect((await linesOf(world.compute, id)).lines).toEqual([beyond.neighbour]);
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
  });
  await network.openLink(4_711);
  await runTool("/usr/sbin/nft", ["delete", "table", "inet", `millrace_${key}`]);
  await network.renew();
  expect(await runTool("/usr/sbin/nft", ["list", "table", "inet", `millrace_${key}`])).toContain("4711");
});

/** A namespace that stands for a machine elsewhere: tells whoever connects at which address it sees him. */
async function anotherMachine() {
  const link = `mt${newId().slice(-8)}`;
  const [neighbour, address] = ["198.51.100.1", "198.51.100.2"];
  const program = `require("node:net").createServer((socket) => socket.end(socket.remoteAddress)).listen(9000, "0.0.0.0", () => console.log("ready"))`;
  const child = spawn(
    "unshare",
    ["--net", "sh", "-c", `read go; ip link set lo up; exec "$0" -e '${program}'`, process.execPath],
    {
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  await once(child, "spawn");
  const lines = [
    `link add name ${link} type veth peer name eth0 netns ${child.pid}`,
    `address add ${neighbour}/30 dev ${link}`,
    `link set dev ${link} up`,
  ];
  await runTool("/usr/sbin/ip", ["-batch", "-"], `${lines.join("\n")}\n`);
  const inside = [`address add ${address}/30 dev eth0`, "link set dev eth0 up"];
  await runTool("/usr/bin/nsenter", [`--net=/proc/${child.pid}/ns/net`, "ip", "-batch", "-"], `${inside.join("\n")}\n`);
  child.stdin.end("\n");
  await once(child.stdout, "data");
  return {
    address,
    neighbour,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await runTool("/usr/sbin/ip", ["link", "delete", link]).catch(() => {});
    },
  };
}
