/** The audit log is also written elsewhere: nothing waits for that, and what is lost is said. */
import { execFileSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { constants, mkdtemp, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { idle } from "../../../tests/idle.ts";
import { setup, type World } from "../../../tests/world.ts";
import { auditFile } from "../../adapters/files/audit-file.ts";
import { auditSyslog } from "../../adapters/syslog/audit-syslog.ts";
import { turn } from "../../kernel/clock.ts";
import type { LineKeeper } from "../../kernel/line-keeper.ts";
import { AuditLines } from "./lines.ts";

function openLines(world: World, keeper: LineKeeper) {
  const said: object[] = [];
  const log = { info() {}, warn() {}, error: (fields: object) => void said.push(fields) };
  const counts = { written: 0, lost: 0 };
  const { watched, audit } = world.services;
  const parts = { watched, entries: audit.entries, keeper, counts, node: "n1", clock: world.clock, log };
  return { lines: new AuditLines(parts), counts, said };
}

/** Keeps lines in memory until it is told to fail. */
function memoryKeeper() {
  const keeper = {
    name: "memory",
    isAway: false,
    kept: [] as string[],
    async keep(lines: readonly string[]) {
      if (keeper.isAway) throw new Error("away");
      keeper.kept.push(...lines);
    },
  };
  return keeper;
}

const create = (world: World, name: string) =>
  world.call("POST", "/v2/account/secrets", { body: { name, value: `value of ${name}` } });

test("an operation has a line when it begins and one with its outcome, with who did it and no value", async () => {
  await using world = await setup();
  const keeper = memoryKeeper();
  const { lines, counts } = openLines(world, keeper);
  const { json } = await create(world, "one");
  await idle();
  const read = keeper.kept.map((line) => JSON.parse(line));
  expect(read.map(({ outcome }) => outcome)).toEqual(["unknown", "done"]);
  expect(new Set(read.map(({ id }) => id)).size).toBe(1);
  expect(read[1]).toMatchObject({
    ...{ node: "n1", account: world.owner.account, operation: "createSecret", fields: ["name", "value"] },
    ...{ actor: { type: "key" }, resource: { type: "secrets", id: json.id } },
  });
  expect(keeper.kept.join()).not.toContain("value of");
  expect(counts).toEqual({ written: 2, lost: 0 });
  await lines[Symbol.asyncDispose]();
  await create(world, "two");
  expect(keeper.kept).toHaveLength(2);
});

test("a keeper that is away gets all lines in their order when it is back", async () => {
  await using world = await setup();
  const keeper = memoryKeeper();
  const { lines, said } = openLines(world, keeper);
  keeper.isAway = true;
  for (const name of ["one", "two", "three"]) await create(world, name);
  await idle();
  expect([keeper.kept.length, said.length]).toEqual([0, 1]);
  keeper.isAway = false;
  await world.clock.advance(5000);
  await idle();
  expect(keeper.kept.map((line) => JSON.parse(line).outcome)).toEqual([
    "unknown",
    "done",
    "unknown",
    "done",
    "unknown",
    "done",
  ]);
  await lines[Symbol.asyncDispose]();
});

/** Stands for the store where a test says itself what is written. */
function announcer() {
  const heard: ((written: never) => void)[] = [];
  return {
    watched: {
      watch(one: (written: never) => void) {
        heard.push(one);
        return () => {};
      },
    },
    tell: (written: object) => heard[0]!([written] as never),
  };
}

test("beyond 10,000 waiting lines the rest is lost, counted, and said in the log that was written", async () => {
  await using world = await setup();
  const keeper = memoryKeeper();
  const { audit } = world.services;
  const { watched, tell } = announcer();
  const counts = { written: 0, lost: 0 };
  const log = { info() {}, warn() {}, error() {} };
  const lines = new AuditLines({
    watched,
    entries: audit.entries,
    keeper,
    counts,
    node: "n1",
    clock: world.clock,
    log,
  });
  await create(world, "one");
  const [entry] = await audit.entries.list({ account: world.owner.account, limit: 1 });
  const record = (await world.store.get("audit-entry", entry!.id))!;
  keeper.isAway = true;
  for (let n = 0; n < 10_050; n++) tell({ how: "insert", record });
  await idle();
  expect(counts).toEqual({ written: 0, lost: 50 });
  keeper.isAway = false;
  await world.clock.advance(5000);
  await idle();
  expect([keeper.kept.length, JSON.parse(keeper.kept.at(-1)!)]).toEqual([
    10_001,
    { at: expect.any(String), node: "n1", operation: "loseAuditLines", lost: 50 },
  ]);
  await lines[Symbol.asyncDispose]();
});

test("lines that still wait when the server ends are counted as lost, and its log has their number", async () => {
  await using world = await setup();
  const keeper = memoryKeeper();
  const { lines, counts, said } = openLines(world, keeper);
  keeper.isAway = true;
  await create(world, "one");
  await idle();
  await lines[Symbol.asyncDispose]();
  expect([counts, said.at(-1)]).toEqual([{ written: 0, lost: 2 }, { lost: 2 }]);
});

test("the number of lost lines is said once, also while new lines come as it is written", async () => {
  await using world = await setup();
  const { audit } = world.services;
  const { watched, tell } = announcer();
  await create(world, "one");
  const [entry] = await audit.entries.list({ account: world.owner.account, limit: 1 });
  const record = (await world.store.get("audit-entry", entry!.id))!;
  const add = () => tell({ how: "insert", record });
  const kept: string[] = [];
  let isAway = true;
  let linesToCome = 3;
  const keeper = {
    name: "memory",
    async keep(lines: readonly string[]) {
      if (isAway) throw new Error("away");
      kept.push(...lines);
      if (lines.some((line) => line.includes("loseAuditLines")) && linesToCome-- > 0) add();
    },
  };
  const counts = { written: 0, lost: 0 };
  const log = { info() {}, warn() {}, error() {} };
  const parts = { watched, entries: audit.entries, keeper, counts, node: "n1", clock: world.clock, log };
  await using _ = new AuditLines(parts);
  for (let n = 0; n < 10_003; n++) add();
  await idle();
  isAway = false;
  await world.clock.advance(5000);
  await idle();
  const losses = kept.map((line) => JSON.parse(line)).filter(({ operation }) => operation === "loseAuditLines");
  expect(losses.map(({ lost }) => lost)).toEqual([3]);
});

test("a file that was rotated away begins anew, and only its owner may read it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-audit-"));
  try {
    const path = join(folder, "audit.log");
    const keeper = auditFile(path);
    await keeper.keep(["one", "two"]);
    await rename(path, `${path}.1`);
    await keeper.keep(["three"]);
    expect([await readFile(`${path}.1`, "utf8"), await readFile(path, "utf8")]).toEqual(["one\ntwo\n", "three\n"]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a line that was cut, by a full disk or a power cut, does not take the next one with it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-audit-"));
  try {
    const path = join(folder, "audit.log");
    await writeFile(path, "one\nha");
    const keeper = auditFile(path);
    await keeper.keep(["two"]);
    await keeper.keep(["three"]);
    expect(await readFile(path, "utf8")).toBe("one\nha\ntwo\nthree\n");
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a pipe gets lines too, and one that nobody reads is an error instead of a wait without an end", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-audit-"));
  try {
    const pipe = join(folder, "audit");
    execFileSync("mkfifo", [pipe]);
    await expect(auditFile(pipe).keep(["one"])).rejects.toThrow("nobody reads it");
    await using reader = await open(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    await auditFile(pipe).keep(["two"]);
    const { bytesRead, buffer } = await reader.read();
    expect(buffer.toString("utf8", 0, bytesRead)).toBe("two\n");
  } finally {
    await rm(folder, { recursive: true });
  }
});

const LINE = '{"at":"2026-01-02T03:04:05.000Z","node":"n1"}';
const MESSAGE =
  /^<109>1 2026-01-02T03:04:05\.000Z \S+ millrace \d+ audit - \{"at":"2026-01-02T03:04:05.000Z","node":"n1"\}$/;

test("syslog by UDP gets one datagram for each line", async () => {
  await using world = await setup();
  const server = createSocket("udp4");
  server.bind(0, "127.0.0.1");
  await once(server, "listening");
  const got = once(server, "message") as Promise<[Buffer]>;
  await auditSyslog({ protocol: "udp", host: "127.0.0.1", port: server.address().port }, world.clock).keep([LINE]);
  expect((await got)[0].toString()).toMatch(MESSAGE);
  server.close();
});

test("syslog by TCP gets each line with its length, and a server that is away is an error", async () => {
  await using world = await setup();
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const got = once(server, "connection").then(([socket]) => text(socket));
  const keeper = auditSyslog({ protocol: "tcp", host: "127.0.0.1", port }, world.clock);
  await keeper.keep([LINE, LINE]);
  const sent = await got;
  const [, length] = /^(\d+) /.exec(sent)!;
  const first = sent.slice(length!.length + 1, length!.length + 1 + Number(length));
  expect(first).toMatch(MESSAGE);
  expect(sent).toBe(`${length} ${first}${length} ${first}`);
  server.close();
  await once(server, "close");
  await expect(keeper.keep([LINE])).rejects.toThrow("ECONNREFUSED");
  await turn();
});
