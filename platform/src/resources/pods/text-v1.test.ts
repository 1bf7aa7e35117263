/** The list of Pods in REST v1: its kept text says what the records say, now and after every change. */
import { expect, test } from "vitest";
import { CPU_POD, type PodWorld, setupPods } from "../../../tests/pod-world.ts";

/** A filter that fits every Pod, so that the list is made from records. */
const FROM_RECORDS = "?computeType=CPU";

async function bothLists(world: PodWorld): Promise<{ kept: string; made: string }> {
  const [kept, made] = [await world.call("GET", "/v1/pods"), await world.call("GET", `/v1/pods${FROM_RECORDS}`)];
  expect([kept.status, made.status]).toEqual([200, 200]);
  return { kept: kept.text, made: made.text };
}

test("the text of the list is the same as that of its records: before a start, while it runs and after a stop", async () => {
  await using world = await setupPods();
  expect((await bothLists(world)).kept).toBe("[]");
  const env = { QUOTED: 'a "quote", a \\ and \u2028', EMPTY: "" };
  const first = await world.call("POST", "/v2/pods", { body: { ...CPU_POD, name: "first", env } });
  await world.call("POST", "/v2/pods", { body: { ...CPU_POD, name: "second", ports: ["8888/http", "22/tcp"] } });
  expect(first.status).toBe(201);
  const before = await bothLists(world);
  expect(before.kept).toBe(before.made);
  await world.pass(5);
  const running = await bothLists(world);
  expect(running.kept).toBe(running.made);
  expect(running.kept).not.toBe(before.kept);
  await world.pass(60);
  const later = await bothLists(world);
  expect(later.kept).toBe(later.made);
  const [shown] = JSON.parse(later.kept) as { uptimeSeconds: number }[];
  expect(shown!.uptimeSeconds).toBeGreaterThan(
    (JSON.parse(running.kept) as { uptimeSeconds: number }[])[0]!.uptimeSeconds,
  );
  await world.call("POST", `/v1/pods/${first.json.id}/stop`);
  await world.pass(5);
  const stopped = await bothLists(world);
  expect(stopped.kept).toBe(stopped.made);
  expect(stopped.kept).toContain('"desiredStatus":"EXITED"');
});
