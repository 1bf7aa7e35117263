/** What every Store guarantees about keys that many records share: lists by key are exact, with the usual order and pages. */
import { expect, test } from "vitest";
import { insertOf, patchOf, removeOf, seed } from "./conformance-records.ts";
import type { OpenStore } from "./store.conformance.ts";
import type { ListKey, Selection, Store } from "./store.ts";

const ofShelf = (value: string): ListKey => ({ name: "shelf", value });

export function keyListingConformance(open: OpenStore): void {
  test("records are listed and counted by a key that they share, newest first", async () => {
    await using opened = await open();
    const { store } = opened;
    for (const [index, shelf] of ["top", "low", "top", "top"].entries())
      await seed(store, { id: `r${index}`, createdAt: index, listed: [ofShelf(shelf)] });
    expect(await idsOn(store, "top")).toEqual(["r3", "r2", "r0"]);
    expect(await idsOn(store, "low")).toEqual(["r1"]);
    expect(await idsOn(store, "none")).toEqual([]);
    expect(await store.count({ kind: "thing", key: ofShelf("top") })).toBe(3);
  });

  test("one record has as many values as it likes, and none twice", async () => {
    await using opened = await open();
    const listed = [ofShelf("top"), ofShelf("low"), ofShelf("top"), { name: "colour", value: "low" }];
    await seed(opened.store, { id: "r1", listed });
    expect([await idsOn(opened.store, "top"), await idsOn(opened.store, "low")]).toEqual([["r1"], ["r1"]]);
    expect(await opened.store.count({ kind: "thing", key: ofShelf("low") })).toBe(1);
  });

  test("a list by a key holds one kind, and one account when it names one", async () => {
    await using opened = await open();
    const listed = [ofShelf("top")];
    await seed(opened.store, { id: "r1", account: "a", listed });
    await seed(opened.store, { id: "r2", account: "b", createdAt: 1, listed });
    await seed(opened.store, { id: "r3", account: "a", createdAt: 2, kind: "other", listed });
    expect(await idsOn(opened.store, "top")).toEqual(["r2", "r1"]);
    expect(await idsOn(opened.store, "top", { account: "a" })).toEqual(["r1"]);
    expect(await opened.store.count({ kind: "thing", account: "b", key: ofShelf("top") })).toBe(1);
  });

  test("pages of a list by a key follow one another without a gap", async () => {
    await using opened = await open();
    const { store } = opened;
    const writes = Array.from({ length: 9 }, (_, i) =>
      insertOf({ id: `r${i}`, createdAt: Math.floor(i / 3), listed: [ofShelf(i % 3 === 1 ? "low" : "top")] }),
    );
    await store.commit(writes);
    const first = await store.list({ kind: "thing", key: ofShelf("top"), limit: 3 });
    const rest = await store.list({ kind: "thing", key: ofShelf("top"), after: first.at(-1), limit: 9 });
    expect([first, rest].map((page) => page.map(({ id }) => id))).toEqual([
      ["r8", "r6", "r5"],
      ["r3", "r2", "r0"],
    ]);
  });

  test("a patch that says so moves a record to other lists; any other leaves it where it is", async () => {
    await using opened = await open();
    const { store } = opened;
    await seed(store, { id: "r1", listed: [ofShelf("top"), ofShelf("mid")] });
    await store.commit([patchOf("r1", { size: 2 })]);
    expect(await idsOn(store, "top")).toEqual(["r1"]);
    await store.commit([{ ...patchOf("r1", {}), listed: [ofShelf("mid"), ofShelf("low")] }]);
    expect([await idsOn(store, "top"), await idsOn(store, "mid"), await idsOn(store, "low")]).toEqual([
      [],
      ["r1"],
      ["r1"],
    ]);
    await store.commit([{ ...patchOf("r1", {}), listed: [] }]);
    expect(await idsOn(store, "mid")).toEqual([]);
  });

  test("a commit that is refused lists nothing anew", async () => {
    await using opened = await open();
    const { store } = opened;
    await seed(store, { id: "r1", listed: [ofShelf("top")] });
    const moved = { ...patchOf("r1", {}), listed: [ofShelf("low")] };
    await expect(store.commit([moved, removeOf("gone")])).rejects.toMatchObject({ reason: "missing" });
    expect([await idsOn(store, "top"), await idsOn(store, "low")]).toEqual([["r1"], []]);
  });

  test("what is removed, alone or with its account, is on no list", async () => {
    await using opened = await open();
    const { store } = opened;
    for (const [id, account] of [
      ["r1", "a"],
      ["r2", "a"],
      ["r3", "b"],
    ] as const)
      await seed(store, { id, account, listed: [ofShelf("top")] });
    await store.commit([removeOf("r1")]);
    expect(await idsOn(store, "top")).toEqual(["r3", "r2"]);
    await store.removeAccount("a");
    expect(await idsOn(store, "top")).toEqual(["r3"]);
    // A different record now has the same id.
    await seed(store, { id: "r1", account: "b" });
    expect(await idsOn(store, "top")).toEqual(["r3"]);
  });

  test("a value that no database could hold is on no list", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "r1", listed: [ofShelf("top")] });
    expect(await idsOn(opened.store, "top\u0000")).toEqual([]);
    expect(await opened.store.count({ kind: "thing", key: ofShelf("\ud800") })).toBe(0);
  });
}

async function idsOn(store: Store, shelf: string, more: Partial<Selection> = {}): Promise<string[]> {
  const records = await store.list({ kind: "thing", key: ofShelf(shelf), limit: 100, ...more });
  return records.map(({ id }) => id);
}
