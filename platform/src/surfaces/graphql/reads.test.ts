/** A list of many items, with everything in them, takes as many reads of the store as a list of a few. */
import { expect, test } from "vitest";
import { allOf } from "../../../tests/graph-documents.ts";
import { ask } from "../../../tests/graphql.ts";
import { podDoc } from "../../../tests/pod-doc.ts";
import { InterceptedStore, setup } from "../../../tests/world.ts";
import { graphSchema } from "./schema.ts";

const DEEP = 2;
const KEPT_MS = 60_000;

/** Asks for every field of a Pod, and everything nested in it. */
const query = `{ myself { pods ${allOf(graphSchema.getType("Pod") as never, DEEP)} } }`;

async function readsFor(count: number): Promise<Record<string, number>> {
  const store = new InterceptedStore();
  await using world = await setup({ store });
  const { pods } = world.services.podRecords;
  for (let i = 0; i < count; i++) {
    const id = `pod${String(i).padStart(11, "0")}`;
    await pods.insert({ id, account: world.owner.account, createdAt: i, doc: podDoc({ name: `p${i}` }) });
  }
  await ask(world, query);
  await world.clock.advance(KEPT_MS);
  const reads: Record<string, number> = {};
  store.beforeRead = (kind) => {
    reads[kind] = (reads[kind] ?? 0) + 1;
  };
  const { status, json } = await ask(world, query);
  expect([status, json.errors, json.data.myself.pods.length]).toEqual([200, undefined, count]);
  return reads;
}

test("500 Pods are read as often as five", async () => {
  expect(await readsFor(500)).toEqual(await readsFor(5));
});
