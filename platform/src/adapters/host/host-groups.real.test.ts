/** Groups on a real machine: what members reach beyond their group, and what a killed server leaves behind. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { beforeEach, expect, test } from "vitest";
import { startChild } from "../../../tests/child.ts";
import { stay } from "../../kernel/clock.ts";
import type { InstanceSpec } from "../../ports/compute/compute.ts";
import { found, linesOf, newId, type Step, specOf } from "../../ports/compute/conformance-world.ts";
import { runTool } from "../machine/forker.ts";
import { bridgeName } from "./bridge-network.ts";
import { keyOf } from "./host-options.ts";
import { type HostWorld, openHost } from "./host-world.ts";
import { missingForTests } from "./machine.ts";

const missing = await missingForTests();
beforeEach(({ skip }) => skip(missing !== undefined, missing));

const PORT = 7_000;
const IP = "/usr/sbin/ip";
const within = (id: string, name: string) => ({ group: { id, name } });
const bridgeOf = ({ data }: HostWorld) => bridgeName(keyOf(join(data, "instances")).key);

async function linesFrom(world: HostWorld, steps: Step[], more: Partial<InstanceSpec>): Promise<string[]> {
  const id = newId();
  await world.compute.start(id, specOf(world, steps, more));
  const { lines } = await linesOf(world.compute, id);
  await world.compute.remove(id);
  return lines;
}

/** A port of the machine that answers every connection. */
async function listenAt(host: string) {
  const server = createServer((_, response) => response.end("hello")).listen(0, host);
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, [Symbol.dispose]: () => server.close() };
}

test("a member reaches the worker link and no other port of the machine, as anybody else", async () => {
  await using world = await openHost();
  const linkHost = world.compute.link.host;
  using link = await listenAt(linkHost);
  using other = await listenAt("0.0.0.0");
  await world.compute.link.open(link.port);
  const script = [link.port, other.port].map(
    (port) =>
      `await fetch("http://${linkHost}:${port}").then(() => console.log("reached"), () => console.log("refused"));`,
  );
  const id = newId();
  const spec = { ...specOf(world, [], within("g", "node-0")), cmd: ["--input-type=module", "-e", script.join("\n")] };
  await world.compute.start(id, spec);
  expect((await linesOf(world.compute, id)).lines).toEqual(["reached", "refused"]);
  await world.compute.remove(id);
});

test("the machine has no address in a group, and no program of it reaches in, not even root's", async () => {
  await using world = await openHost();
  const id = newId();
  await world.compute.start(id, specOf(world, [{ echoOn: PORT }], within("g", "node-0")));
  await linesOf(world.compute, id, { limit: 1 });
  const { address } = (await found(world.compute, id))!;
  expect(await runTool(IP, ["-brief", "address", "show", "dev", `${bridgeOf(world)}g0`])).not.toMatch(/\d+\.\d+|::/);
  // Something in the surrounding network may accept connections to any address. Only the member echoes what it receives.
  const script = `const socket = require("node:net").connect({ port: ${PORT}, host: "${address}", timeout: 1000 }, () => socket.write("x"));
    socket.on("data", () => process.exit(7));
    for (const event of ["timeout", "error", "end"]) socket.on(event, () => process.exit(5));`;
  const child = spawn(process.execPath, ["-e", script], { stdio: "ignore" });
  expect((await once(child, "exit"))[0]).toBe(5);
  await world.compute.remove(id);
});

test("a member that is ended and removed is no name any more, and the file that the others see stays the same one", async () => {
  await using world = await openHost();
  const [one, two] = [newId(), newId()];
  await world.compute.start(one, specOf(world, [{ stayUntilAsked: 0 }], within("g", "a-name-that-is-long")));
  await world.compute.start(two, specOf(world, [{ stayUntilAsked: 0 }], within("g", "b")));
  const names = () => readFile(`/run/millrace-groups/${bridgeOf(world)}g0`, "utf8");
  expect(await names()).toContain("a-name-that-is-long");
  await world.compute.remove(one);
  const { address } = (await found(world.compute, two))!;
  expect(await names()).toBe(`127.0.0.1 localhost\n::1 localhost\n${address} b\n`);
  await world.compute.remove(two);
  expect(await world.groupsLeft()).toEqual([]);
});

test("members go on when their server is killed, and with the next one nothing is left of a group without members", async () => {
  await using world = await openHost();
  await world.compute[Symbol.asyncDispose]();
  const driver = await killableDriver(world, 60);
  const id = newId();
  await driver.start(id, specOf(world, [{ echoOn: PORT }], within("g", "node-0")));
  await driver.kill();
  const left = `${bridgeOf(world)}g7`;
  await runTool(IP, ["link", "add", "name", left, "type", "bridge"]);
  const compute = await world.reopen();
  expect(await world.groupsLeft()).not.toContain(`link ${left}`);
  const again = { ...world, compute };
  expect(await linesFrom(again, [{ call: "node-0", port: PORT, isPatient: true }], within("g", "node-1"))).toEqual([
    "reached",
  ]);
  await compute.remove(id);
  expect(await world.groupsLeft()).toEqual([]);
});

test("when no server comes back, the group goes with the last of its workers", async () => {
  await using world = await openHost();
  await world.compute[Symbol.asyncDispose]();
  const driver = await killableDriver(world, 1);
  for (const name of ["node-0", "node-1"])
    await driver.start(newId(), specOf(world, [{ stayUntilAsked: 0 }], within("g", name)));
  expect(await world.groupsLeft()).not.toEqual([]);
  await driver.kill();
  while ((await world.groupsLeft()).length > 0) await stay(50);
  expect(await runTool(IP, ["-brief", "link"])).not.toContain(bridgeOf(world));
});

test("members of an earlier release, for which nothing was reserved, keep their addresses in what is reserved now", async () => {
  await using world = await openHost();
  const ask = { account: "account", id: "g", image: "host:/app", names: ["node-0", "node-1"] };
  const before = await world.compute.networks!.reserve(ask);
  const id = newId();
  const seat = (name: string) => ({ group: { id: "g", name, isReserved: true } });
  await world.compute.start(id, specOf(world, [{ echoOn: PORT }], seat("node-0")));
  await linesOf(world.compute, id, { limit: 1 });
  // That release recorded addresses only with the members.
  await rm(join(world.data, "instances", ".networks"), { recursive: true });
  const compute = await world.reopen();
  expect(await compute.networks!.list()).toEqual([]);
  expect(await compute.networks!.reserve(ask)).toEqual(before);
  const again = { ...world, compute };
  expect(await linesFrom(again, [{ call: before.hosts[0]!, port: PORT }], seat("node-1"))).toEqual(["reached"]);
  await compute.remove(id);
  await compute.networks!.release(ask);
  expect(await world.groupsLeft()).toEqual([]);
});

test("a draft that a killed server left is nobody's network", async () => {
  await using world = await openHost();
  const folder = join(world.data, "instances", ".networks");
  await mkdir(folder);
  await writeFile(join(folder, `${"0".repeat(64)}.json.draft.new`), '{"account":"a');
  const compute = await world.reopen();
  expect([await compute.networks!.list(), await readdir(folder)]).toEqual([[], []]);
});

/** A server reduced to its driver, in a process of its own on the world's data folder. */
async function killableDriver({ data }: HostWorld, watchdogS: number) {
  const program = join(import.meta.dirname, "driver-process.ts");
  const args = ["--disable-warning=ExperimentalWarning", program, data, String(watchdogS)];
  const child = startChild(process.execPath, args);
  const lines = createInterface({ input: child.stdout });
  const said = async (wanted: string) => {
    for (let line = ""; line !== wanted; ) [line] = (await once(lines, "line")) as [string];
  };
  await said("open");
  return {
    async start(id: string, spec: InstanceSpec) {
      const started = said(`started ${id}`);
      child.stdin.write(`${JSON.stringify({ id, spec })}\n`);
      await started;
    },
    async kill() {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}
