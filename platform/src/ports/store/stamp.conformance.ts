/** What the stamps of a Store tell. */
import { expect, test } from "vitest";
import { insertOf, patchOf, removeOf } from "./conformance-records.ts";
import type { OpenStore } from "./store.conformance.ts";

export function stampConformance(open: OpenStore): void {
  test("the stamp of a kind grows by one with every commit of any process that writes such records", async () => {
    await using opened = await open();
    const { store } = opened;
    const stamps = [store.stamp("thing")];
    const note = () => stamps.push(store.stamp("thing"));
    await store.commit([insertOf({ id: "r1" }), insertOf({ id: "r2" })]);
    note();
    await using other = await opened.beside();
    await other.store.commit([patchOf("r1", { size: 1 })]);
    note();
    await store.commit([removeOf("r2")]);
    note();
    await store.removeAccount("a");
    note();
    const [first] = stamps;
    expect(stamps).toEqual(stamps.map((_, i) => (first === undefined ? undefined : first + i)));
  });

  test("the stamp of a kind stays while other records are written, and after a refused commit", async () => {
    await using opened = await open();
    const { store } = opened;
    await store.commit([insertOf({ id: "r1" })]);
    const before = store.stamp("thing");
    await store.commit([insertOf({ kind: "other", id: "r1", account: "b" })]);
    await expect(store.commit([insertOf({ id: "r2" }), insertOf({ id: "r1" })])).rejects.toThrow("id-taken");
    await store.removeAccount("b");
    expect(store.stamp("thing")).toBe(before);
  });
}
