/** Which ports of a machine are chosen for publishing. */
import { expect, test } from "vitest";
import { choosePorts, halves, PortTaken } from "./publish.ts";

const RANGE = { first: 20_000, last: 20_003 };
const two = [{ port: 80 }, { port: 443 }];

test("those that nobody has, from where it is said on and round again", () => {
  const choose = (from: number, ...taken: number[]) =>
    choosePorts(two, RANGE, { taken: new Set(taken), from }).map(({ outside }) => outside);
  expect(choose(0)).toEqual([20_000, 20_001]);
  expect(choose(3)).toEqual([20_003, 20_000]);
  expect(choose(4_000_000_001, 20_002)).toEqual([20_001, 20_003]);
  expect(() => choose(0, 20_000, 20_001, 20_003)).toThrow("no port of 20000 to 20003 is free to publish 443 at");
});

test("those that were wished for, which nobody else gets", () => {
  const choose = (...taken: number[]) =>
    choosePorts([{ port: 80 }, { port: 443, outside: 20_000 }], RANGE, { taken: new Set(taken), from: 0 });
  expect(choose()).toEqual([
    { inside: 80, outside: 20_001 },
    { inside: 443, outside: 20_000 },
  ]);
  expect(() => choose(20_000)).toThrow(PortTaken);
  expect(() => choosePorts([{ port: 80, outside: 5 }], RANGE, { taken: new Set(), from: 0 })).toThrow(
    "nothing is published at 5 here, only at 20000 to 20003",
  );
});

test("two drivers of one machine have no port in common", () => {
  expect(halves({ first: 20_000, last: 29_999 })).toEqual([
    { first: 20_000, last: 24_999 },
    { first: 25_000, last: 29_999 },
  ]);
  expect(halves({ first: 5, last: 6 })).toEqual([
    { first: 5, last: 5 },
    { first: 6, last: 6 },
  ]);
});
