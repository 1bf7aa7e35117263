/** Limits of terminals: neither side gets far ahead of the other, and a client that does harm harms only itself. */
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { CPU_POD, type PodWorld, setupPods } from "../../../tests/pod-world.ts";
import { openTerminal, podTerminal, setupTerminal, TerminalClient, ticketFor } from "../../../tests/terminal-client.ts";
import { MOST_TERMINALS } from "./terminals.ts";

describe("nobody is ahead of the other", () => {
  /** Waits until the number of bytes that left has stayed the same over many requests to the same server. */
  async function settled(world: PodWorld, bytes: () => number): Promise<number> {
    for (let same = 0, before = -1; same < 20; ) {
      await world.call("GET", "/v2/pods");
      same = bytes() === before ? same + 1 : 0;
      before = bytes();
    }
    return bytes();
  }

  const MB = 1_048_576;

  test("a program whose client does not read waits, and goes on when it does", async () => {
    await using terminal = await setupTerminal();
    const { world, client, program } = terminal;
    client.socket.pause();
    let written = 0;
    const writing = (async () => {
      for (; written < 64 * MB; written += MB / 4) await program.write(Buffer.alloc(MB / 4, "x"));
    })();
    const stopped = await settled(world, () => written);
    // Bytes in transit are in the system's buffers, and hardly anywhere else.
    expect(stopped).toBeLessThan(48 * MB);
    expect(program.stdout.readableLength).toBeLessThan(MB);
    client.socket.removeAllListeners("message");
    let received = 0;
    client.socket.on("message", (data: Buffer, isBinary) => {
      if (isBinary) received += data.length;
    });
    client.socket.resume();
    await writing;
    program.end({ code: 0 });
    await client.closed;
    expect(received).toBe(64 * MB);
  });

  test("a client whose program does not read waits, and what it sent arrives when it does", async () => {
    await using terminal = await setupTerminal();
    const { world, client, program } = terminal;
    let sent = 0;
    const piece = Buffer.alloc(MB / 4, "y");
    const isSent = () => {
      sent += piece.length;
    };
    for (let i = 0; i < 256; i++) client.socket.send(piece, isSent);
    expect(await settled(world, () => sent)).toBeLessThan(48 * MB);
    expect(program.stdin.writableLength + program.stdin.readableLength).toBeLessThan(2 * MB);
    let received = 0;
    const all = new Promise<void>((resolve) => {
      program.input.on("data", (data: Buffer) => {
        received += data.length;
        if (received === 64 * MB) resolve();
      });
    });
    await all;
    program.end({ code: 0 });
    await client.closed;
  });
});

describe("who does harm", () => {
  test.each([
    ["no JSON", "hello"],
    ["another message", JSON.stringify({ type: "reboot" })],
    ["a size that is none", JSON.stringify({ type: "resize", cols: 0, rows: 1e9 })],
    ["more than was asked for", JSON.stringify({ type: "end", more: 1 })],
    ["a long text", "x".repeat(2000)],
    ["a deep one", "[".repeat(1000)],
  ])("by a text frame with %s is told so, and that is the end", async (_, frame) => {
    await using terminal = await setupTerminal();
    terminal.client.say(frame);
    expect((await terminal.client.told("error")).message).not.toBe("");
    expect(await terminal.client.closed).toBe(1008);
    expect(await terminal.program.exit).toMatchObject({ signal: "SIGHUP" });
  });

  test("by a frame of megabytes is cut off", async () => {
    await using terminal = await setupTerminal();
    terminal.client.type(Buffer.alloc(2_000_000));
    expect(await terminal.client.closed).toBe(1009);
    expect(await terminal.program.exit).toMatchObject({ signal: "SIGHUP" });
  });

  test("by tens of thousands of tiny frames has each of them heard, in order, a few at a time", async () => {
    await using terminal = await setupTerminal();
    const { client, program } = terminal;
    const all = Array.from({ length: 30_000 }, (_, i) => String(i % 10));
    let heard = "";
    const done = new Promise<void>((resolve) => {
      program.input.on("data", (data: Buffer) => {
        heard += data;
        if (heard.length === all.length) resolve();
      });
    });
    for (const one of all) client.type(one);
    await done;
    expect(heard).toBe(all.join(""));
    program.end({ code: 0 });
    await client.closed;
  });

  test("by text frames without end is not read until time has made up for them", async () => {
    await using terminal = await setupTerminal();
    const { client, program, world } = terminal;
    let heard = "";
    program.input.on("data", (data: Buffer) => {
      heard += data;
    });
    for (let cols = 1; cols <= 600; cols++) client.say({ type: "resize", cols, rows: 1 });
    // The server takes 400 at once and 200 per second. After these it is 1 s behind, so what follows has to wait.
    await world.clock.armed(5);
    client.type("later");
    for (let requests = 0; requests < 30; requests++) await world.call("GET", "/v2/pods");
    expect(heard).toBe("");
    const read = once(program.input, "data");
    await world.clock.advance(1000);
    await read;
    expect(heard).toBe("later");
    program.end({ code: 0 });
    await client.closed;
  });

  test("by a message in thousands of frames is cut off", async () => {
    await using terminal = await setupTerminal();
    const { client, program } = terminal;
    for (let i = 0; i < 5000; i++) client.socket.send("x", { binary: true, fin: false });
    expect(await client.closed).toBe(1008);
    expect(await program.exit).toMatchObject({ signal: "SIGHUP" });
  });

  test("by empty frames and pings without end fills nothing", async () => {
    await using terminal = await setupTerminal();
    const { client, program } = terminal;
    for (let i = 0; i < 20_000; i++) client.socket.send(Buffer.alloc(0));
    for (let i = 0; i < 1000; i++) client.socket.ping(Buffer.alloc(125));
    client.type("end");
    expect(String((await once(program.input, "data"))[0])).toBe("end");
    expect(program.stdin.writableLength).toBe(0);
    program.end({ code: 0 });
    await client.closed;
  });

  test("by a hundred terminals gets no more, and other accounts do", async () => {
    await using world = await setupPods();
    const theirs = await world.strangersKey();
    const pods = [];
    for (let i = 0; i < 4; i++) pods.push((await world.create()).id as string);
    for (const instance of world.running()) instance.onExec = () => {};
    for (let i = 0; i < MOST_TERMINALS; i++) await openTerminal(world, podTerminal(pods[i % 4]!));
    const one = await openTerminal(world, podTerminal(pods[0]!));
    expect((await one.told("error")).message).toContain(`has ${MOST_TERMINALS} terminals open here`);
    const { json } = await world.call("POST", "/v2/pods", { body: CPU_POD, key: theirs });
    await world.settle();
    world.running().at(-1)!.onExec = (program) => program.end({ code: 0 });
    const other = await new TerminalClient(await ticketFor(world, json.id, { key: theirs })).opened();
    // Some of the hundred have not started yet. The other account's program is among the next two.
    await world.settle();
    await world.clock.advance(400);
    expect(await other.told("exit")).toMatchObject({ code: 0 });
  });

  test("by as many in one Pod as its driver runs is told so", async () => {
    await using world = await setupPods();
    const { id } = await world.create();
    world.running()[0]!.onExec = () => {};
    for (let i = 0; i < 32; i++) await openTerminal(world, podTerminal(id));
    const one = await openTerminal(world, podTerminal(id));
    expect((await one.told("error")).message).toContain("32 programs run in");
  });
});
