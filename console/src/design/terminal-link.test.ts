/** The connection of a terminal: what it does when the program ends, the network breaks, or the server refuses. */
import { expect, test } from "vitest";
import { Refusal } from "../api/refusal.ts";
import { endOf, type LinkState, type Size, type Socket, TerminalLink } from "./terminal-link.ts";

class FakeSocket implements Socket {
  binaryType = "";
  readyState = 0;
  sent: (string | Uint8Array)[] = [];
  isClosed = false;
  onopen: ((event: never) => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  send(data: string | Uint8Array) {
    this.sent.push(data);
  }
  close() {
    this.isClosed = true;
  }
  opens() {
    this.readyState = 1;
    this.onopen?.(undefined as never);
  }
  breaks(code: number) {
    this.readyState = 3;
    this.onclose?.({ code });
  }
}

function world(ask: (size: Size) => Promise<{ ticket: string }> = async () => ({ ticket: "t" })) {
  const states: LinkState[] = [];
  const sockets: FakeSocket[] = [];
  const timers: { task: () => void; ms: number }[] = [];
  const asked: Size[] = [];
  const link = new TerminalLink(
    {
      ask: (size) => {
        asked.push(size);
        return ask(size);
      },
      connect: () => {
        const socket = new FakeSocket();
        sockets.push(socket);
        return socket;
      },
      later: (task, ms) => {
        const timer = { task, ms };
        timers.push(timer);
        return () => timers.splice(timers.indexOf(timer), 1);
      },
      onState: (state) => states.push(state),
      onBytes: () => {},
    },
    { cols: 80, rows: 24 },
  );
  return { link, states, sockets, timers, asked };
}

test("a broken connection is opened again after 1, 2, 4 seconds, each time with a new ticket", async () => {
  const { link, states, sockets, timers, asked } = world();
  await link.open();
  for (const seconds of [1, 2, 4]) {
    sockets.at(-1)!.breaks(1006);
    expect(states.at(-1)).toEqual({ at: "waiting", seconds });
    timers.pop()!.task();
    await Promise.resolve();
    await Promise.resolve();
  }
  expect(asked).toHaveLength(4);
});

test("the pause starts over once a connection was open", async () => {
  const { link, states, sockets, timers } = world();
  await link.open();
  sockets[0]!.breaks(1006);
  timers.pop()!.task();
  await Promise.resolve();
  await Promise.resolve();
  sockets[1]!.opens();
  sockets[1]!.breaks(1006);
  expect(states.at(-1)).toEqual({ at: "waiting", seconds: 1 });
});

test("a program that ended is not begun again, and its exit is told with the reason", async () => {
  const { link, states, sockets, timers } = world();
  await link.open();
  sockets[0]!.opens();
  sockets[0]!.onmessage?.({ data: '{"type":"exit","code":null,"signal":"SIGKILL","reason":"The Pod was stopped."}' });
  sockets[0]!.breaks(1000);
  expect(states.at(-1)).toEqual({
    at: "ended",
    text: "The program was ended by SIGKILL. The Pod was stopped.",
    isBad: true,
  });
  expect(timers).toEqual([]);
});

test("a refusal of the server ends it with the server's words, and one that passes is tried again", async () => {
  const refused = world(() => Promise.reject(new Refusal(409, "Conflict", "The Pod is EXITED.")));
  await refused.link.open();
  expect(refused.states.at(-1)).toEqual({ at: "ended", text: "The Pod is EXITED.", isBad: true });
  const away = world(() => Promise.reject(Refusal.unreachable()));
  await away.link.open();
  expect(away.states.at(-1)).toEqual({ at: "waiting", seconds: 1 });
});

test("a size that changed while it connected is sent once it is open", async () => {
  const { link, sockets } = world();
  await link.open();
  link.resize({ cols: 100, rows: 30 });
  expect(sockets[0]!.sent).toEqual([]);
  sockets[0]!.opens();
  expect(sockets[0]!.sent).toEqual(['{"type":"resize","cols":100,"rows":30}']);
});

test("a large paste is cut into frames that the server takes", async () => {
  const { link, sockets } = world();
  await link.open();
  sockets[0]!.opens();
  link.send("x".repeat(150_000));
  expect(sockets[0]!.sent.map((frame) => frame.length)).toEqual([65_536, 65_536, 18_928]);
});

test("a terminal that was closed takes no answer any more", async () => {
  const { link, states, sockets, timers } = world();
  await link.open();
  sockets[0]!.opens();
  link.close();
  expect(sockets[0]!.isClosed).toBe(true);
  sockets[0]!.breaks(1006);
  expect(states.at(-1)).toEqual({ at: "open" });
  expect(timers).toEqual([]);
});

test("exit 0 is no failure", () => {
  expect(endOf('{"type":"exit","code":0,"signal":null,"reason":null}')).toEqual({
    at: "ended",
    text: "The program ended with exit code 0.",
    isBad: false,
  });
});
