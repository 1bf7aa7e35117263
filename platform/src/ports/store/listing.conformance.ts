/** What every Store guarantees about listings: the order, and pages that stay correct while records come and go. */
import { expect, test } from "vitest";
import { insertOf, patchOf, removeOf, seed } from "./conformance-records.ts";
import type { OpenStore } from "./store.conformance.ts";
import type { Listing, Store } from "./store.ts";

export function listingConformance(open: OpenStore): void {
  test("a list shows what was changed since the last one, and what came under the id of a record that went", async () => {
    await using opened = await open();
    const listed = async () => (await opened.store.list({ kind: "thing", limit: 2 })).map(({ doc }) => doc);
    await seed(opened.store, { id: "r1", doc: { n: 1 } });
    await seed(opened.store, { id: "r2", doc: { n: 2 } });
    expect(await listed()).toEqual([{ n: 2 }, { n: 1 }]);
    await opened.store.commit([patchOf("r1", { n: 3 })]);
    expect(await listed()).toEqual([{ n: 2 }, { n: 3 }]);
    await opened.store.commit([{ do: "remove", kind: "thing", id: "r2" }]);
    await seed(opened.store, { id: "r2", doc: { n: 4 } });
    expect(await listed()).toEqual([{ n: 4 }, { n: 3 }]);
    await opened.store.removeAccount("a");
    await seed(opened.store, { id: "r1", doc: { n: 5 } });
    expect(await listed()).toEqual([{ n: 5 }]);
  });

  test("records come newest first, and those of one moment by id, last first", async () => {
    await using opened = await open();
    await seedAll(opened.store, { m1: 5, m3: 5, m2: 5, old: 1, new: 9, ancient: -3 });
    expect(await listIds(opened.store)).toEqual(["new", "m3", "m2", "m1", "old", "ancient"]);
  });

  test("ids sort by their bytes, not as a dictionary would", async () => {
    await using opened = await open();
    await seedAll(opened.store, { a: 0, B: 0, "a-b": 0, aa: 0, _: 0, "10": 0, "9": 0, ä: 0 });
    expect(await listIds(opened.store)).toEqual(["ä", "aa", "a-b", "a", "_", "B", "9", "10"]);
    expect(await listIds(opened.store, { after: { createdAt: 0, id: "_" } })).toEqual(["B", "9", "10"]);
  });

  test("a listing begins before a moment where it is told to go on after nothing of that moment", async () => {
    await using opened = await open();
    await seedAll(opened.store, { before: 4, at: 5, later: 6 });
    expect(await listIds(opened.store, { after: { createdAt: 5, id: "" } })).toEqual(["before"]);
  });

  test("a listing holds one kind, and one account when it names one", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "r1", account: "a" });
    await seed(opened.store, { id: "r2", account: "b" });
    await seed(opened.store, { id: "r3", account: "a", kind: "other" });
    expect(await listIds(opened.store)).toEqual(["r2", "r1"]);
    expect(await listIds(opened.store, { account: "a" })).toEqual(["r1"]);
    expect(await listIds(opened.store, { account: "c" })).toEqual([]);
  });

  test("records are counted by kind and account", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "r1", account: "a" });
    await seed(opened.store, { id: "r2", account: "a" });
    await seed(opened.store, { id: "r3", account: "b" });
    await seed(opened.store, { id: "r4", account: "a", kind: "other" });
    const counts = ["a", "b", "c"].map((account) => opened.store.count({ kind: "thing", account }));
    expect(await Promise.all(counts)).toEqual([2, 1, 0]);
    await opened.store.commit([removeOf("r1")]);
    expect(await opened.store.count({ kind: "thing", account: "a" })).toBe(1);
  });

  test("pages follow one another without a gap, also where one moment spans two pages", async () => {
    await using opened = await open();
    await seedAll(opened.store, { a: 1, b: 2, c: 2, d: 2, e: 3 });
    expect(await pagesOf(opened.store, 2)).toEqual([["e", "d"], ["c", "b"], ["a"]]);
  });

  test("records inserted or removed between two pages neither repeat nor hide others", async () => {
    await using opened = await open();
    await seedAll(opened.store, { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 });
    const between = async () => {
      await seedAll(opened.store, { newest: 99, "c-late": 4 });
      // Removes the record after which the next page begins, one already seen, and one still to come.
      await opened.store.commit([removeOf("e"), removeOf("f"), removeOf("b")]);
    };
    expect(await pagesOf(opened.store, 2, between)).toEqual([["f", "e"], ["d", "c-late"], ["c", "a"], []]);
  });

  test("pages of one account pass over the records of others", async () => {
    await using opened = await open();
    const writes = Array.from({ length: 10 }, (_, i) =>
      insertOf({ id: `r${i}`, account: i % 2 ? "a" : "b", createdAt: i }),
    );
    await opened.store.commit(writes);
    const first = await opened.store.list({ kind: "thing", account: "a", limit: 2 });
    expect(first.map(({ id }) => id)).toEqual(["r9", "r7"]);
    expect(await listIds(opened.store, { account: "a", after: first.at(-1), limit: 2 })).toEqual(["r5", "r3"]);
  });
}

async function seedAll(store: Store, createdAtById: Record<string, number>): Promise<void> {
  await store.commit(Object.entries(createdAtById).map(([id, createdAt]) => insertOf({ id, createdAt })));
}

async function listIds(store: Store, options: Partial<Listing> = {}): Promise<string[]> {
  const records = await store.list({ kind: "thing", limit: 100, ...options });
  return records.map(({ id }) => id);
}

/** Returns the ids of every page. `between` runs once, after the first page. */
async function pagesOf(store: Store, limit: number, between?: () => Promise<void>): Promise<string[][]> {
  const pages: string[][] = [];
  let page = await store.list({ kind: "thing", limit });
  pages.push(page.map(({ id }) => id));
  await between?.();
  while (page.length === limit) {
    page = await store.list({ kind: "thing", limit, after: page.at(-1) });
    pages.push(page.map(({ id }) => id));
  }
  return pages;
}
