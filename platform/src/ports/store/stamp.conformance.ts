/** What the stamp of a Store tells. */
import { expect, test } from "vitest";
import { insertOf, patchOf } from "./conformance-records.ts";
import type { OpenStore } from "./store.conformance.ts";

export function stampConformance(open: OpenStore): void {
  test("the stamp of a store stays while nothing is written, and changes with every write of any process", async () => {
    await using opened = await open();
    const { store } = opened;
    const stamps = [store.stamp(), store.stamp()];
    await store.commit([insertOf({ id: "r1", account: "a" })]);
    stamps.push(store.stamp());
    await using other = await opened.beside();
    await other.store.commit([patchOf("r1", { size: 1 })]);
    stamps.push(store.stamp());
    await store.removeAccount("a");
    stamps.push(store.stamp());
    expect(stamps[0]).toBe(stamps[1]);
    expect(new Set(stamps).size).toBe(store.stamp() === undefined ? 1 : 4);
  });
}
