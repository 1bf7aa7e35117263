/** How long results are kept is the operator's choice, and what clients are told follows it. */
import { expect, test } from "vitest";
import { setup } from "../../tests/world.ts";
import { keptFor, parseRetention, RETENTION_MS } from "./retention.ts";

const MINUTE_MS = 60_000;

test("the default is what clients of the public API know", () => {
  expect(parseRetention("30,1,5")).toEqual(RETENTION_MS);
  expect(keptFor(RETENTION_MS, false)).toBe("results of /run are kept for 30 minutes after the end");
});

test.each(["", "30", "30,1", "30,1,5,9", "0,1,5", "30,-1,5", "30,1,1e3", "30,1,10081", "a,b,c"])(
  "'%s' is refused with what it must be",
  (text) => {
    expect(() => parseRetention(text)).toThrow("such as 30,1,5");
  },
);

test("a result is kept for as long as the operator says, and then the answer says for how long", async () => {
  await using world = await setup({ resultMinutes: "90,2,3" });
  const body = { name: "e", image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const { id } = (await world.call("POST", "/v2/serverless", { body })).json;
  const job = (await world.call("POST", `/v2/${id}/run`, { body: { input: {} } })).json.id;
  await world.call("POST", `/v2/${id}/cancel/${job}`);
  await world.clock.advance(89 * MINUTE_MS);
  expect((await world.call("GET", `/v2/${id}/status/${job}`)).json.status).toBe("CANCELLED");
  await world.clock.advance(2 * MINUTE_MS);
  const { status, text } = await world.call("GET", `/v2/${id}/status/${job}`);
  expect([status, text]).toEqual([404, expect.stringContaining("results of /run are kept for 90 minutes")]);
});
