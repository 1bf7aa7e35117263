/** An instance on another node's machine: its ports, and further programs in it. */
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { idle } from "../../../tests/idle.ts";
import { setupNodes } from "../../../tests/node-world.ts";
import { EnvelopeVault } from "../../adapters/crypto/envelope-vault.ts";
import { SeededRandom } from "../../kernel/random.ts";
import type { Execution } from "../../ports/compute/execution.ts";
import type { FakeExecution } from "../../ports/compute/fake-execution.ts";
import type { FakeCan } from "../../ports/compute/fake-options.ts";
import { ExecRefused } from "../../ports/compute/refusal.ts";
import { NodeCalls } from "./calls.ts";
import { OtherInstances } from "./other-instances.ts";
import { NodePasses } from "./pass.ts";

const MB = 1_048_576;

const key = new SeededRandom(1).bytes(32);

/** Two nodes, an instance on the first, and the second node's access to it. */
async function setup(can: Partial<FakeCan> = {}) {
  const nodes = await setupNodes({}, { can });
  const { text: id } = await nodes.ask();
  const { clock } = nodes.second;
  const passes = new NodePasses({
    clock,
    random: new SeededRandom(2),
    vault: new EnvelopeVault([key], nodes.second.random),
  });
  const calls = new NodeCalls({ clock, passes });
  const peer = { id: "first", url: nodes.first.url };
  const played = Promise.withResolvers<FakeExecution>();
  nodes.first.compute.instance(id).onExec = (program) => played.resolve(program);
  return { nodes, id, calls, peer, played: played.promise };
}

/** Reads the output until this text has arrived. */
async function heard(execution: Execution, wanted: string): Promise<void> {
  let all = "";
  for await (const chunk of execution.stdout.iterator({ destroyOnReturn: false })) {
    all += chunk;
    if (all.includes(wanted)) return;
  }
  expect(all).toContain(wanted);
}

test("a port of the instance is reached through its node, and none that is not its own", async () => {
  const { nodes, id, calls, peer } = await setup();
  await using _ = nodes;
  const connection = await calls.dialInstance(peer, id, 80);
  connection.write("GET /quick HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  expect(await text(connection)).toContain(id);
  await expect(calls.dialInstance(peer, id, 81)).rejects.toThrow("81");
});

test("a program is asked for with all that belongs to it, talks both ways and tells its exit", async () => {
  const { nodes, id, calls, peer, played } = await setup();
  await using _ = nodes;
  const spec = { cmd: ["sh", "-c", "ü 'x'"], env: { A: "1" }, cwd: "/app", terminal: { columns: 80, rows: 24 } };
  const execution = await calls.exec(peer, id, spec);
  const program = await played;
  expect(program.spec).toEqual(spec);
  execution.stdin.write("hello");
  expect(String((await once(program.input, "data"))[0])).toBe("hello");
  await program.write("there");
  await heard(execution, "there");
  const sizes: unknown[] = [];
  const resized = new Promise<void>((resolve) => {
    program.onResize = (size) => {
      sizes.push(size);
      resolve();
    };
  });
  await execution.resize({ columns: 100, rows: 30 });
  await resized;
  expect(sizes).toEqual([{ columns: 100, rows: 30 }]);
  program.onSignal = (name) => program.end({ code: name === "SIGTERM" ? 5 : 6 });
  await execution.signal!("SIGTERM");
  expect(await execution.exit).toMatchObject({ code: 5 });
});

test("a program of a driver that sends no signals takes none from here either, and ends with its caller", async () => {
  const { nodes, id, calls, peer, played } = await setup({ execSignals: false });
  await using _ = nodes;
  const execution = await calls.exec(peer, id, { cmd: ["x"] });
  expect(execution.signal).toBeUndefined();
  const program = await played;
  const hungUp = new Promise<void>((resolve) => {
    program.onHangUp = resolve;
  });
  execution.close();
  await hungUp;
});

test("without a terminal its streams come apart, each to its end", async () => {
  const { nodes, id, calls, peer, played } = await setup();
  await using _ = nodes;
  const execution = await calls.exec(peer, id, { cmd: ["x"] });
  const program = await played;
  execution.stdin.end("input");
  expect(await text(program.input)).toBe("input");
  await program.write("out");
  await program.write("wrong", "stderr");
  program.end({ code: 0 });
  expect(await Promise.all([text(execution.stdout), text(execution.stderr)])).toEqual(["out", "wrong"]);
});

test("a program whose output nobody reads waits, and hears signals all the same; so does who writes to it", async () => {
  const { nodes, id, calls, peer, played } = await setup();
  await using _ = nodes;
  const execution = await calls.exec(peer, id, { cmd: ["x"] });
  const program = await played;
  let written = 0;
  const writing = (async () => {
    for (; written < 64; written++) await program.write(Buffer.alloc(MB / 4));
  })();
  let isTaken = false;
  execution.stdin.write(Buffer.alloc(8 * MB), () => {
    isTaken = true;
  });
  await idle();
  expect(written).toBeLessThan(16);
  expect(isTaken).toBe(false);
  const told = new Promise((resolve) => {
    program.onSignal = resolve;
  });
  await execution.signal!("SIGUSR1");
  expect(await told).toBe("SIGUSR1");
  program.input.resume();
  execution.stderr.resume();
  const all = text(execution.stdout);
  await writing;
  program.end({ code: 0 });
  expect((await all).length).toBe(16 * MB);
});

test("a caller that goes away takes the program along", async () => {
  const { nodes, id, calls, peer, played } = await setup();
  await using _ = nodes;
  const execution = await calls.exec(peer, id, { cmd: ["x"] });
  const program = await played;
  execution.close();
  expect(await program.exit).toMatchObject({ signal: "SIGHUP" });
  expect(await execution.exit).toMatchObject({ code: null, reason: "its caller went away" });
});

test("an instance that ends ends it, on both nodes", async () => {
  const { nodes, id, calls, peer, played } = await setup();
  await using _ = nodes;
  const execution = await calls.exec(peer, id, { cmd: ["x"] });
  await played;
  nodes.first.compute.instance(id).exit({ code: 1 });
  expect(await execution.exit).toMatchObject({ code: null, signal: "SIGKILL" });
});

test("what the driver refuses is refused with its reason", async () => {
  const { nodes, id, calls, peer } = await setup();
  await using _ = nodes;
  await nodes.first.compute.freezing!.freeze(id);
  await expect(calls.exec(peer, id, { cmd: ["x"] })).rejects.toThrow(ExecRefused);
  await expect(calls.exec(peer, id, { cmd: ["x"] })).rejects.toThrow("frozen");
  await expect(calls.exec(peer, id, { cmd: [] })).rejects.toThrow("no command");
});

test("an instance that is not on the node's own machines is not there, and nothing is passed on", async () => {
  const { nodes, id, calls, peer } = await setup();
  await using _ = nodes;
  await expect(calls.exec({ id: "second", url: nodes.second.url }, id, { cmd: ["x"] })).rejects.toThrow(
    `instance ${id} is not here`,
  );
  await expect(calls.exec({ id: "second", url: nodes.first.url }, id, { cmd: ["x"] })).rejects.toThrow(
    "this is node first",
  );
  await expect(calls.dialInstance(peer, "unknown", 80)).rejects.toThrow("unknown is not here");
});

test("without a pass, or with another's, there is nothing", async () => {
  const { nodes, id, peer } = await setup();
  await using _ = nodes;
  const { clock, random } = nodes.second;
  const vault = new EnvelopeVault([new SeededRandom(99).bytes(32)], random);
  const stranger = new NodeCalls({ clock, passes: new NodePasses({ clock, random, vault }) });
  await expect(stranger.exec(peer, id, { cmd: ["x"] })).rejects.toThrow("not valid");
  await expect(stranger.dialInstance(peer, id, 80)).rejects.toThrow("not valid");
});

test("the node of an instance is found by its machine", async () => {
  const { nodes, id, calls, played } = await setup();
  await using _ = nodes;
  const peers = async () => [
    { id: "first", url: nodes.first.url, isSilent: false, seenAt: 0, machines: ["first"], loads: {} },
  ];
  const others = new OtherInstances({ calls, peers });
  const execution = await others.exec("first", id, { cmd: ["x"] });
  (await played).end({ code: 3 });
  expect(await execution.exit).toMatchObject({ code: 3 });
  (await others.dial("first", id, 80)).destroy();
  await expect(others.exec("third", id, { cmd: ["x"] })).rejects.toThrow("machine third is not reachable");
});
