/** A wait ends once: with its value, because time is up, or because nobody waits any more. */
import { expect, test } from "vitest";
import { FakeClock } from "./clock.ts";
import { pause, wait, whileThere } from "./wait.ts";

function setup() {
  const clock = new FakeClock();
  const client = new AbortController();
  const overs: string[] = [];
  const begin = () =>
    wait({ clock, ms: 1000, gone: client.signal, late: "late", left: "left", over: () => overs.push("over") });
  return { clock, client, overs, begin };
}

test("it ends with what it is told, once, and nothing happens afterwards", async () => {
  const { clock, client, overs, begin } = setup();
  const { ended, end } = begin();
  end("told");
  end("told again");
  client.abort();
  await clock.advance(2000);
  expect([await ended, overs]).toEqual(["told", ["over"]]);
});

test("it ends when its time is up, and not before", async () => {
  const { clock, overs, begin } = setup();
  const { ended } = begin();
  await clock.advance(999);
  expect(overs).toEqual([]);
  await clock.advance(1);
  expect([await ended, overs]).toEqual(["late", ["over"]]);
});

test("it ends when the client goes, has gone before, or leaves", async () => {
  const { client, overs, begin } = setup();
  const [first, second] = [begin(), begin()];
  first.leave();
  client.abort();
  const third = begin();
  // The third wait has not ended yet: what `over` would undo may not be done yet.
  expect(overs).toEqual(["over", "over"]);
  expect(await Promise.all([first.ended, second.ended, third.ended])).toEqual(["left", "left", "left"]);
  expect(overs).toEqual(["over", "over", "over"]);
});

test("a pause is as long as asked for, unless nobody waits", async () => {
  const { clock, client } = setup();
  let isOver = false;
  const long = pause(clock, 1000, client.signal).then(() => {
    isOver = true;
  });
  await clock.advance(999);
  expect(isOver).toBe(false);
  client.abort();
  await long;
  await pause(clock, 1000, client.signal);
});

test("whoever stays through many waits is left with nothing of them", async () => {
  const heard = new Set<() => void>();
  const gone = {
    aborted: false,
    addEventListener: (_: "abort", listener: () => void) => void heard.add(listener),
    removeEventListener: (_: "abort", listener: () => void) => void heard.delete(listener),
  };
  for (let line = 0; line < 3; line++) {
    const work = Promise.withResolvers<void>();
    const waiting = whileThere(gone, work.promise);
    expect(heard.size).toBe(1);
    work.resolve();
    await waiting;
  }
  expect(heard.size).toBe(0);
});

test("a wait for work ends when the client goes, or has gone before", async () => {
  const { client } = setup();
  const never = new Promise<void>(() => {});
  const waiting = whileThere(client.signal, never);
  client.abort();
  await waiting;
  await whileThere(client.signal, never);
});
