/** The last guard logs every unhandled failure within bounds and survives it. Only an untrusted state ends the process. */
import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { CannotGoOn } from "../kernel/cannot-go-on.ts";
import { FakeClock } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import { LastGuard } from "./last-guard.ts";

function setup({ end = async () => {}, write = () => {} }: { end?: () => Promise<void>; write?: () => void } = {}) {
  const clock = new FakeClock(0);
  const process = new EventEmitter();
  const stderr = new EventEmitter();
  const told: [object, string][] = [];
  const exits: number[] = [];
  const note = (fields: object, message: string) => {
    told.push([fields, message]);
    write();
  };
  const log: Log = { info: note, warn: note, error: note };
  const guard = new LastGuard({ process, streams: [stderr], log, clock, end, exit: (code) => exits.push(code) });
  return { clock, process, stderr, told, exits, guard };
}

test("a failure that reached nobody is told of with where it was, and the process goes on", () => {
  const { process, told, exits } = setup();
  const error = new Error("a bug");
  process.emit("unhandledRejection", error, Promise.resolve());
  process.emit("uncaughtException", error, "uncaughtException");
  process.emit("unhandledRejection", undefined);
  expect(told).toEqual([
    [
      { err: error, how: "the failure of work that nobody awaited" },
      "a failure that reached nobody; the server continues",
    ],
    [{ err: error, how: "thrown where nobody caught it" }, "a failure that reached nobody; the server continues"],
    [expect.objectContaining({ err: new Error("thrown: undefined") }), expect.any(String)],
  ]);
  expect(exits).toEqual([]);
});

test("the same failure without end fills no log", async () => {
  const { clock, process, told } = setup();
  for (let i = 0; i < 1000; i++) process.emit("uncaughtException", new Error("again"));
  expect(told).toHaveLength(10);
  await clock.advance(10_000);
  process.emit("uncaughtException", new Error("again"));
  expect(told.slice(10).map(([fields]) => fields)).toEqual([
    { untold: 990 },
    expect.objectContaining({ how: expect.any(String) }),
  ]);
});

test("a log that cannot be written to, and standard streams that nobody reads, are no failures", () => {
  const { process, stderr, exits } = setup({
    write: () => {
      throw new Error("ENOSPC");
    },
  });
  process.emit("uncaughtException", new Error("a bug"));
  stderr.emit("error", new Error("EPIPE"));
  expect(exits).toEqual([]);
});

test("what cannot be trusted ends the process in order, once, with the reason", async () => {
  let ends = 0;
  const { clock, process, told, exits } = setup({
    end: async () => {
      ends++;
    },
  });
  const reason = new CannotGoOn("the journal cannot be read");
  process.emit("uncaughtException", reason);
  process.emit("uncaughtException", new CannotGoOn("and again"));
  await clock.advance(0);
  expect([ends, exits]).toEqual([1, [1]]);
  expect(told).toEqual([[{ err: reason }, "the server cannot continue, and ends"]]);
});

test("an end that fails or hangs ends all the same", async () => {
  const failing = setup({ end: () => Promise.reject(new Error("no")) });
  failing.process.emit("uncaughtException", new CannotGoOn("x"));
  await failing.clock.advance(0);
  expect(failing.exits).toEqual([1]);
  const hanging = setup({ end: () => new Promise(() => {}) });
  hanging.process.emit("uncaughtException", new CannotGoOn("x"));
  await hanging.clock.advance(19_999);
  expect(hanging.exits).toEqual([]);
  await hanging.clock.advance(1);
  expect(hanging.exits).toEqual([1]);
});

test("a guard that is gone hears nothing", () => {
  const { guard, process } = setup();
  guard[Symbol.dispose]();
  expect(process.listenerCount("uncaughtException")).toBe(0);
});
