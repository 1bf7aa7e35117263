/** A health check reports why it could not ask a worker. */
import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { FakeClock } from "../kernel/clock.ts";
import { HealthCheck } from "./health-check.ts";

/** Makes a connection that is reset on the first write. */
const reset = () => new Duplex({ read() {}, write: (_chunk, _encoding, done) => done(new Error("ECONNRESET")) });

test.each([
  ["no connection", () => undefined, "the connection was broken as soon as it was made"],
  ["a connection that has ended", () => reset().destroy(), "the connection was broken as soon as it was made"],
  ["a connection that breaks", () => reset(), "ECONNRESET"],
])("a dialer that gives %s", async (_what, given, reason) => {
  const told = Promise.withResolvers<string>();
  const listener = { ready() {}, ailing: told.resolve, failed() {} };
  const watched = { healthPort: 80, healthPath: "/ping", dial: async () => given() as Duplex };
  using _check = new HealthCheck(new FakeClock(), watched, listener);
  expect(await told.promise).toBe(`GET /ping on port 80: ${reason}`);
});
