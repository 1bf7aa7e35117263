/** What every Store guarantees about bounds: the count is part of the commit, whoever else is writing. */
import { expect, test } from "vitest";
import { insertOf, nameKey, patchOf, removeOf, seed, settled } from "./conformance-records.ts";
import type { OpenStore } from "./store.conformance.ts";
import type { Bound, NewRecord, Store, Write } from "./store.ts";

const things = (most: number, account = "a"): Bound => ({ of: [{ kind: "thing", account }], most });
const size = (most: number, account = "a"): Bound => ({ of: [{ kind: "thing", account, sum: "size" }], most });

const bounded = (given: Partial<NewRecord> & { id: string }, ...within: Bound[]): Write =>
  ({ ...insertOf(given), within }) as Write;

const many = (prefix: string, n: number) => Array.from({ length: n }, (_, i) => `${prefix}${i}`);

export function boundConformance(open: OpenStore): void {
  test("of 20 creates at once by two stores on the same data, as many succeed as fit", async () => {
    await using opened = await open();
    await using other = await opened.beside();
    const make = (store: Store, id: string) => store.commit([bounded({ id }, things(3))]);
    const { won, refused } = await settled([
      ...many("here", 10).map((id) => make(opened.store, id)),
      ...many("there", 10).map((id) => make(other.store, id)),
    ]);
    expect([won.length, refused]).toEqual([3, Array(17).fill("full")]);
    expect(await opened.store.count({ kind: "thing", account: "a" })).toBe(3);
  });

  test("of 20 that grow at once by two stores, as many do as a sum allows", async () => {
    await using opened = await open();
    await using other = await opened.beside();
    const ids = many("r", 20);
    await opened.store.commit(ids.map((id) => insertOf({ id, doc: { size: 10 } })));
    const grow = (id: string, i: number) =>
      (i % 2 ? opened : other).store.commit([{ ...patchOf(id, { size: 17 }), within: [size(200 + 4 * 7 + 6)] }]);
    const { won, refused } = await settled(ids.map(grow));
    expect([won.length, refused]).toEqual([4, Array(16).fill("full")]);
    expect(await opened.store.count({ kind: "thing", account: "a", sum: "size" })).toBe(228);
  });

  test("a bound is that of its account: others fill nothing of it", async () => {
    await using opened = await open();
    await opened.store.commit(many("r", 5).map((id) => insertOf({ id, account: "b", doc: { size: 9 } })));
    await opened.store.commit([bounded({ id: "mine", doc: { size: 1 } }, things(1), size(1))]);
    const more = opened.store.commit([bounded({ id: "more" }, things(1))]);
    await expect(more).rejects.toMatchObject({ reason: "full", index: 0 });
  });

  test("a bound counts several kinds together, and all that the commit wrote before", async () => {
    await using opened = await open();
    const both = {
      of: [
        { kind: "thing", account: "a" },
        { kind: "other", account: "a" },
      ],
      most: 3,
    };
    await seed(opened.store, { id: "r1", kind: "other" });
    const last = [insertOf({ id: "r2" }), insertOf({ id: "r3", kind: "other" }), bounded({ id: "r4" }, both)];
    await expect(opened.store.commit(last)).rejects.toMatchObject({ reason: "full", index: 2 });
    expect(await opened.store.get("thing", "r2")).toBeUndefined();
    await opened.store.commit([insertOf({ id: "r2" }), bounded({ id: "r4" }, both)]);
  });

  test("a bound counts the records with a key: a change that gives a record the key is refused, one that takes it makes room", async () => {
    await using opened = await open();
    const key = { name: "living", value: "e1" };
    const living = { of: [{ kind: "thing", account: "a", key }], most: 1 };
    const revive = (id: string): Write => ({ ...patchOf(id, {}), listed: [key], within: [living] }) as Write;
    await opened.store.commit([insertOf({ id: "rests", listed: [] }), bounded({ id: "lives", listed: [key] }, living)]);
    await expect(opened.store.commit([revive("rests")])).rejects.toMatchObject({ reason: "full", index: 0 });
    await opened.store.commit([revive("lives")]);
    await opened.store.commit([{ ...patchOf("lives", {}), listed: [] } as Write]);
    await opened.store.commit([revive("rests")]);
    await expect(opened.store.commit([revive("lives")])).rejects.toMatchObject({ reason: "full" });
  });

  test("what is removed makes room, in the same commit too", async () => {
    await using opened = await open();
    await opened.store.commit([bounded({ id: "r1" }, things(1))]);
    await opened.store.commit([removeOf("r1"), bounded({ id: "r2" }, things(1))]);
    await opened.store.commit([removeOf("r2")]);
    await opened.store.commit([bounded({ id: "r3" }, things(1))]);
  });

  test("a write that is refused for another reason says that reason, and fills nothing", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "r1", unique: [nameKey("web")] });
    const taken = opened.store.commit([bounded({ id: "r2", unique: [nameKey("web")] }, things(2))]);
    await expect(taken).rejects.toMatchObject({ reason: "key-taken" });
    await opened.store.commit([bounded({ id: "r2" }, things(2))]);
  });

  test("commits under two bounds, which count in opposite orders, do not hold each other up", async () => {
    await using opened = await open();
    await using other = await opened.beside();
    const [some, others] = [
      { of: [{ kind: "thing", account: "a" }], most: 99 },
      { of: [{ kind: "other", account: "a" }], most: 99 },
    ];
    const one = (id: string) => opened.store.commit([bounded({ id }, some, others)]);
    const two = (id: string) => other.store.commit([bounded({ id, kind: "other" }, others, some)]);
    await Promise.all([...many("one", 15).map(one), ...many("two", 15).map(two)]);
    expect(await opened.store.count({ kind: "other", account: "a" })).toBe(15);
  });

  test("a sum takes numbers alone, and is 0 of nothing", async () => {
    await using opened = await open();
    const docs = [{ size: 1.5 }, { size: "9" }, { size: null }, {}, { size: [9] }, { size: 2 }];
    await opened.store.commit(docs.map((doc, i) => insertOf({ id: `r${i}`, doc })));
    const sum = { kind: "thing", sum: "size" };
    expect(await opened.store.count({ ...sum, account: "a" })).toBe(3.5);
    expect(await opened.store.count({ ...sum, account: "b" })).toBe(0);
    expect(await opened.store.count({ ...sum, account: "b\u0000" })).toBe(0);
  });
}
