/** Batches of results and progress are limited in lines and length, and leave nothing out. */
import { expect, test } from "vitest";
import { Outbox } from "./outbox.ts";

function sent(outbox: Outbox): number[] {
  const counts: number[] = [];
  while (outbox.hasNews) counts.push(outbox.takeBatch().lines.split("\n").length - 1);
  return counts;
}

test("a batch has at most a thousand lines, and the rest follows", () => {
  const outbox = new Outbox();
  for (let i = 0; i < 700; i++) outbox.progress({ id: `p${i}`, attempt: 1, text: "{}" });
  for (let i = 0; i < 1500; i++) outbox.end({ id: `e${i}`, attempt: 1, text: "{}" });
  expect(sent(outbox)).toEqual([1000, 1000, 200]);
});

test("a batch has at most four million characters and one line, progress counted", () => {
  const outbox = new Outbox();
  const text = "x".repeat(2 ** 21);
  for (let i = 0; i < 3; i++) outbox.progress({ id: `p${i}`, attempt: 1, text });
  for (let i = 0; i < 2; i++) outbox.end({ id: `e${i}`, attempt: 1, text });
  expect(sent(outbox)).toEqual([2, 2, 1]);
});

test("what was not taken along is still there when a batch comes back", () => {
  const outbox = new Outbox();
  for (let i = 0; i < 1001; i++) outbox.end({ id: `e${i}`, attempt: 1, text: "{}" });
  outbox.putBack(outbox.takeBatch());
  expect(sent(outbox)).toEqual([1000, 1]);
});

test("a result that stays unconfirmed from one report to the next is late, one that is on its way is not", () => {
  const outbox = new Outbox();
  outbox.end({ id: "slow", attempt: 1, text: "{}" });
  outbox.endAside({ id: "long", attempt: 1 });
  expect(outbox.late()).toEqual([]);
  const batch = outbox.takeBatch();
  outbox.end({ id: "new", attempt: 1, text: "{}" });
  expect(outbox.late()).toEqual(["slow", "long"]);
  outbox.confirm(batch.ends);
  expect(outbox.late()).toEqual(["long", "new"]);
});
