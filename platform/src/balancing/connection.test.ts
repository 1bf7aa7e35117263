/** Whatever a dialer returns, the caller gets a usable connection or a reason, and nothing else happens. */
import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { FakeClock } from "../kernel/clock.ts";
import { connection, DIAL_MS } from "./connection.ts";

const stream = () => new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });

test("a connection is handed on, and leaves no timer", async () => {
  const clock = new FakeClock();
  const given = stream();
  expect(await connection(async () => given, clock)).toBe(given);
  expect(clock.waiting).toBe(0);
});

test.each([
  ["nothing", () => undefined],
  ["one that is closed already", () => stream().destroy()],
  ["one that broke", () => stream().destroy(new Error("reset"))],
  ["one that takes nothing", () => stream().end()],
])("%s is a refusal", async (_what, given) => {
  const clock = new FakeClock();
  await expect(connection(async () => given(), clock)).rejects.toThrow("broken as soon as it was made");
  expect(clock.waiting).toBe(0);
});

test("a refusal is told as it is", async () => {
  const dial = () => Promise.reject(new Error("nobody listens"));
  await expect(connection(dial, new FakeClock())).rejects.toThrow("nobody listens");
});

test("one that breaks while nobody uses it ends nothing else", async () => {
  const given = await connection(async () => stream(), new FakeClock());
  given.destroy(new Error("reset"));
  await new Promise((resolve) => given.once("close", resolve));
  expect(given.errored?.message).toBe("reset");
});

test("one that comes too late is closed, and a late refusal disturbs nobody", async () => {
  const clock = new FakeClock();
  const dials = [Promise.withResolvers<Duplex>(), Promise.withResolvers<Duplex>()];
  const refused = dials.map(({ promise }) => expect(connection(() => promise, clock)).rejects.toThrow("within 10 s"));
  await clock.advance(DIAL_MS);
  await Promise.all(refused);
  const late = stream();
  dials[0]!.resolve(late);
  dials[1]!.reject(new Error("nobody listens"));
  await new Promise((resolve) => late.once("close", resolve));
});
