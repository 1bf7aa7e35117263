/** Terminals over WebSocket: what passes through one, and how it ends. */
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { setupPodNodes, sidesOf } from "../../../tests/pod-nodes.ts";
import { CPU_POD, setupPods } from "../../../tests/pod-world.ts";
import {
  openTerminal,
  played,
  podTerminal,
  setupTerminal,
  TerminalClient,
  ticketFor,
} from "../../../tests/terminal-client.ts";
import { RESIZE_MS } from "../resizes.ts";
import { BEAT_MS } from "./terminals.ts";

describe("through it", () => {
  test("bytes go both ways, sizes go in, and the exit comes out", async () => {
    await using terminal = await setupTerminal();
    const { client, program } = terminal;
    client.type("ls\r");
    expect(String((await once(program.input, "data"))[0])).toBe("ls\r");
    await program.write("ü there\r\n");
    await client.heard("ü there");
    const resized = new Promise((resolve) => {
      program.onResize = resolve;
    });
    client.say({ type: "resize", cols: 120, rows: 40 });
    expect(await resized).toEqual({ columns: 120, rows: 40 });
    await program.write("bye");
    program.end({ code: 7 });
    expect(await client.told("exit")).toEqual({ type: "exit", code: 7, signal: null, reason: null });
    expect([client.output, await client.closed]).toEqual(["ü there\r\nbye", 1000]);
  });

  test("without a terminal errors come apart, and the end of input is said", async () => {
    await using terminal = await setupTerminal({ command: ["cat"], tty: false });
    const { client, program } = terminal;
    expect(program.spec).toEqual({ cmd: ["cat"] });
    client.type(Buffer.from([0, 255, 10]));
    client.say({ type: "end" });
    expect(await text(program.input)).toBe(String(Buffer.from([0, 255, 10])));
    await program.write("out");
    await program.write("wrong", "stderr");
    program.end({ code: 1 });
    expect(Buffer.from((await client.told("stderr")).data, "base64").toString()).toBe("wrong");
    expect(await client.told("exit")).toMatchObject({ code: 1 });
    expect(client.output).toBe("out");
  });

  test("it works by way of a node that does not run the Pod", async () => {
    await using nodes = await setupPodNodes();
    const { id } = await nodes.first.create();
    await nodes.first.pass(2);
    const [here, there] = sidesOf(nodes, id);
    const playing = played(here.running()[0]!);
    const client = await openTerminal(there, podTerminal(id), { command: ["sh"] });
    const program = await playing;
    client.type("x");
    expect(String((await once(program.input, "data"))[0])).toBe("x");
    const resized = new Promise((resolve) => {
      program.onResize = resolve;
    });
    client.say({ type: "resize", cols: 90, rows: 20 });
    expect(await resized).toEqual({ columns: 90, rows: 20 });
    await program.write("there");
    await client.heard("there");
    program.end({ code: 5 });
    expect(await client.told("exit")).toMatchObject({ code: 5 });
  });

  test("a program that was not there says so", async () => {
    await using world = await setupPods();
    const { id } = await world.create();
    const client = await openTerminal(world, podTerminal(id), { command: ["fish"] });
    expect(await client.told("exit")).toMatchObject({
      code: 127,
      reason: expect.stringContaining("no program 'fish'"),
    });
  });

  test("what a program leaves behind does not hold it open: it is over when nothing came for a while", async () => {
    await using terminal = await setupTerminal({ tty: false, command: ["sh", "-c", "sleep 1000 & exit 4"] });
    const { client, program, world } = terminal;
    program.stdout.end = () => program.stdout;
    program.end({ code: 4 });
    await program.write("last");
    await client.heard("last");
    await world.pass(5);
    expect(await client.told("exit")).toMatchObject({ code: 4 });
  });

  test("of many sizes while one is being told, the last one is told next", async () => {
    await using terminal = await setupTerminal();
    const { client, program, world } = terminal;
    const told: number[] = [];
    const first = Promise.withResolvers<void>();
    const [begun, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    program.resize = async ({ columns }) => {
      told.push(columns);
      begun.resolve();
      if (told.length === 1) await first.promise;
      else done.resolve();
    };
    for (let cols = 1; cols <= 300; cols++) client.say({ type: "resize", cols, rows: 1 });
    client.type("x");
    await begun.promise;
    await once(program.input, "data");
    first.resolve();
    // For a moment no size is passed on, and then the last one is.
    await world.clock.armed(RESIZE_MS);
    expect(told).toEqual([1]);
    await world.clock.advance(RESIZE_MS);
    await done.promise;
    expect(told).toEqual([1, 300]);
    program.end({ code: 0 });
  });
});

describe("it ends", () => {
  test("with the client: the program is hung up", async () => {
    await using terminal = await setupTerminal();
    terminal.client.socket.terminate();
    expect(await terminal.program.exit).toMatchObject({ signal: "SIGHUP" });
  });

  test("with the Pod, and says why that ended", async () => {
    await using terminal = await setupTerminal();
    await terminal.world.act(terminal.pod, "stop");
    expect(await terminal.client.told("exit")).toEqual({
      ...{ type: "exit", code: null, signal: "SIGKILL" },
      reason: `Pod ${terminal.pod} is EXITED: stopped by its owner.`,
    });
    await using other = await setupTerminal();
    await other.world.act(other.pod, "terminate");
    expect((await other.client.told("exit")).reason).toBe(`Pod ${other.pod} is gone.`);
  });

  test("with the server", async () => {
    const { world, client } = await setupTerminal();
    const told = client.told("exit");
    await world[Symbol.asyncDispose]();
    expect(await told).toEqual({ type: "exit", code: null, signal: "SIGHUP", reason: "the server is ending" });
    expect(await client.closed).toBe(1001);
  });

  test("with the key that asked for it, and no other one of the account", async () => {
    await using world = await setupPods();
    const { id } = await world.create();
    world.running()[0]!.onExec = () => {};
    const made = (await world.call("POST", "/v2/account/api-keys", { body: { scopes: ["pods:exec"] } })).json;
    const theirs = await new TerminalClient(await ticketFor(world, id, { key: made.key })).opened();
    const mine = await openTerminal(world, podTerminal(id));
    await world.call("DELETE", `/v2/account/api-keys/${made.id}`);
    await world.pass(1);
    const reason = "the API key or session that this terminal was opened with was ended, or its time is over";
    expect(await theirs.told("exit")).toEqual({ type: "exit", code: null, signal: "SIGHUP", reason });
    expect(mine.messages).toEqual([]);
  });

  test("with the account, on a node that hears of it from the store alone", async () => {
    await using nodes = await setupPodNodes();
    const stranger = await nodes.first.services.accounts.create("stranger", "s@localhost");
    const key = await nodes.first.newKey({ of: stranger });
    const { json } = await nodes.first.call("POST", "/v2/pods", { body: CPU_POD, key });
    await nodes.first.pass(2);
    const [here, there] = sidesOf(nodes, json.id);
    const program = played(here.running()[0]!);
    const client = await new TerminalClient(await ticketFor(there, json.id, { key })).opened();
    await program;
    await here.services.accounts.delete(stranger.account);
    await here.pass(2);
    expect((await client.told("exit")).reason).toMatch(/was revoked|is gone/);
  });

  test("with the time of the key", async () => {
    await using world = await setupPods();
    const { id } = await world.create();
    world.running()[0]!.onExec = () => {};
    const key = await world.newKey({ scopes: ["pods:exec"], expiresAt: world.clock.now() + 5000 });
    const client = await new TerminalClient(await ticketFor(world, id, { key })).opened();
    await world.pass(4);
    expect(client.messages).toEqual([]);
    await world.pass(2);
    expect((await client.told("exit")).reason).toContain("its time is over");
  });

  test("when nothing is heard of the client, pongs neither", async () => {
    await using terminal = await setupTerminal();
    const { client, world, program } = terminal;
    let pings = 0;
    client.socket.on("ping", () => pings++);
    for (let beats = 0; beats < 4; beats++) {
      const ping = once(client.socket, "ping");
      await world.clock.advance(BEAT_MS);
      await ping;
      await world.settle();
    }
    expect(pings).toBe(4);
    client.socket.pong = () => {};
    for (let beats = 0; beats < 3; beats++) {
      await world.clock.advance(BEAT_MS);
      await world.settle();
    }
    expect(await program.exit).toMatchObject({ signal: "SIGHUP" });
  });
});

test("what comes together with the request to connect is not lost", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  const { pathname, host, port } = new URL(await ticketFor(world, id));
  const playing = played(world.running()[0]!);
  const socket = connect(Number(port), "127.0.0.1");
  const asks = `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`;
  const key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
  // A binary frame with a mask of zeros.
  const frame = Buffer.concat([Buffer.from([0x82, 0x80 | 5, 0, 0, 0, 0]), Buffer.from("early")]);
  socket.write(Buffer.concat([Buffer.from(asks + key), frame]));
  const program = await playing;
  expect(String((await once(program.input, "data"))[0])).toBe("early");
  socket.destroy();
  expect(await program.exit).toMatchObject({ signal: "SIGHUP" });
});
