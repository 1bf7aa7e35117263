/** Two machines in network namespaces of this one: each has a link to the other, and one to the tests. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { launcher } from "./process.ts";

const run = promisify(execFile);
const SNIFFER = new URL("./fixtures/sniffer.py", import.meta.url).pathname;

export interface TestMachine {
  /** Where the other machine reaches it. */
  address: string;
  /** The address of the tests, as this machine sees it. */
  tests: string;
  /** A command that starts Millrace on this machine. */
  command: string;
  /** Runs a tool on this machine and returns its output. */
  tool(...command: string[]): Promise<string>;
  /** The names of the machine's links. */
  links(): Promise<string[]>;
}

export interface TwoMachines extends AsyncDisposable {
  machines: readonly [TestMachine, TestMachine];
  /** Lets both machines reach this TCP service of the tests' machine. Resolves with its port. */
  forward(to: URL): Promise<number>;
  /** Counts the packets between the machines: all of them, and those that contain this text. */
  sniff(text: string): Promise<{ end(): Promise<{ packets: number; found: number }> }>;
}

/** `folder` takes the files that this makes. */
export async function twoMachines(folder: string): Promise<TwoMachines> {
  await using made = new AsyncDisposableStack();
  const name = (n: number) => `mrt${process.pid}${n}`;
  for (const n of [1, 2]) {
    await run("ip", ["netns", "add", name(n)]);
    made.defer(async () => {
      // A test that failed leaves its members running, and programs of a machine would keep it.
      const pids = (await run("ip", ["netns", "pids", name(n)])).stdout.split("\n").filter((pid) => pid !== "");
      for (const pid of pids) process.kill(Number(pid), "SIGKILL");
      await run("ip", ["netns", "delete", name(n)]);
    });
  }
  const inside = (n: number, line: string) => run("ip", ["-n", name(n), ...line.split(" ")]);
  await run("ip", [
    "link",
    "add",
    "under",
    "netns",
    name(1),
    "type",
    "veth",
    "peer",
    "name",
    "under",
    "netns",
    name(2),
  ]);
  const machines: TestMachine[] = [];
  for (const n of [1, 2]) {
    const [address, tests] = [`192.168.213.${n}`, `10.213.${n}.1`];
    await run("ip", ["link", "add", name(n), "type", "veth", "peer", "name", "tests", "netns", name(n)]);
    await run("ip", ["address", "add", `${tests}/30`, "dev", name(n)]);
    await run("ip", ["link", "set", "dev", name(n), "up"]);
    await inside(n, `address add 10.213.${n}.2/30 dev tests`);
    await inside(n, `address add ${address}/24 dev under`);
    for (const link of ["lo", "tests", "under"]) await inside(n, `link set dev ${link} up`);
    await run("ip", ["route", "add", `${address}/32`, "via", `10.213.${n}.2`]);
    const command = join(folder, `millrace-${n}`);
    const enter = ["nsenter", `--net=/run/netns/${name(n)}`];
    await writeFile(command, `#!/bin/sh\nexec ${enter.join(" ")} ${launcher} "$@"\n`);
    await chmod(command, 0o755);
    const tool = async (...given: string[]) => (await run(enter[0]!, [enter[1]!, ...given])).stdout;
    const links = async () => [...(await tool("ip", "-o", "link")).matchAll(/^\d+: ([^:@]+)/gm)].map(([, one]) => one!);
    machines.push({ address, tests, command, tool, links });
  }
  const kept = made.move();
  return {
    machines: machines as [TestMachine, TestMachine],
    async forward(to) {
      const server = createServer((near) => {
        const far = connect(Number(to.port), to.hostname);
        for (const [socket, other] of [
          [near, far],
          [far, near],
        ] as const)
          socket
            .on("error", () => {})
            .on("close", () => other.destroy())
            .pipe(other);
      });
      await once(server.listen(0), "listening");
      kept.defer(() => void server.close());
      return (server.address() as AddressInfo).port;
    },
    async sniff(text) {
      const child = spawn("nsenter", [`--net=/run/netns/${name(1)}`, "/usr/bin/python3", SNIFFER, "under", text]);
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
      await lines.next();
      return {
        async end() {
          child.stdin.end();
          return JSON.parse((await lines.next()).value as string);
        },
      };
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
