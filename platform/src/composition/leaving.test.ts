/** What a node does between the request to end and its end, while load balancers still send it requests. */
import { expect, test } from "vitest";
import { idle } from "../../tests/idle.ts";
import { setup, type World } from "../../tests/world.ts";
import { MemorySignals } from "../ports/signals/memory-signals.ts";

const severalNodes = () => Object.defineProperty(new MemorySignals(), "reliable", { value: false });

const statuses = async ({ call }: World) =>
  Promise.all(["/readyz", "/v2/templates"].map(async (path) => (await call("GET", path)).status));

test("a node that leaves says so at once, and answers on until load balancers have noticed", async () => {
  const signals = severalNodes();
  await using first = await setup({ signals, machine: "first" });
  const second = await setup({ signals, store: first.store, found: first, machine: "second", leaveS: 3 });
  for (let s = 0; s < 6; s++) await first.clock.advance(1000);
  await idle();
  expect(await statuses(second)).toEqual([200, 200]);

  const left = second[Symbol.asyncDispose]();
  expect(await statuses(second)).toEqual([503, 200]);
  await first.clock.advance(2900);
  expect(await statuses(second)).toEqual([503, 200]);
  await first.clock.advance(100);
  await left;
  await expect(statuses(second)).rejects.toThrow("fetch failed");
  expect(await statuses(first)).toEqual([200, 200]);
});

test("the only node ends at once, since nobody else could answer", async () => {
  const only = await setup({ signals: severalNodes(), leaveS: 3 });
  await only[Symbol.asyncDispose]();
  await expect(statuses(only)).rejects.toThrow("fetch failed");
});
