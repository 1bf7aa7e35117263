/** What every Store guarantees. This suite defines the port and runs against each adapter. */
import { describe, expect, test } from "vitest";
import type { Document } from "../../kernel/document.ts";
import { boundConformance } from "./bound.conformance.ts";
import { insertOf, nameKey, patchOf, removeOf, seed, settled } from "./conformance-records.ts";
import { keyListingConformance } from "./key-listing.conformance.ts";
import { leaseConformance } from "./lease.conformance.ts";
import { listingConformance } from "./listing.conformance.ts";
import { stampConformance } from "./stamp.conformance.ts";
import type { Store, Write } from "./store.ts";
import { useConformance } from "./use.conformance.ts";

/** A store opened for one test. Disposing of it also removes its data. */
export interface OpenedStore extends AsyncDisposable {
  store: Store;
  /** Closes the store and opens it again on the same data, or says why this adapter cannot. */
  reopen: (() => Promise<Store>) | { cannot: string };
  /** Opens another store on the same data, like that of a second node or process. A store in memory returns itself. */
  beside: () => Promise<{ store: Store } & AsyncDisposable>;
}

export type OpenStore = () => Promise<OpenedStore>;

const LARGE_TEXT = 20 * 1024 * 1024;

export function storeConformance(name: string, open: OpenStore): void {
  describe.concurrent(`${name} is a Store`, () => {
    describe("records", () => recordCases(open));
    describe("stamps", () => stampConformance(open));
    describe("unique keys", () => uniqueKeyCases(open));
    describe("commits", () => commitCases(open));
    describe("uses", () => useConformance(open));
    describe("bounds", () => boundConformance(open));
    describe("documents", () => documentCases(open));
    describe("accounts", () => accountCases(open));
    describe("listings", () => listingConformance(open));
    describe("lists by key", () => keyListingConformance(open));
    describe("leases", () => leaseConformance(open));
    describe("restarts", () => restartCases(open));
  });
}

function recordCases(open: OpenStore): void {
  test("an inserted record is returned and can be got", async () => {
    await using opened = await open();
    const [written] = await opened.store.commit([insertOf({ id: "r1", account: "a", createdAt: 7, doc: { size: 3 } })]);
    expect(written).toEqual({ kind: "thing", id: "r1", account: "a", createdAt: 7, version: 1, doc: { size: 3 } });
    expect(await opened.store.get("thing", "r1")).toEqual(written);
  });

  test("a record that does not exist is undefined", async () => {
    await using opened = await open();
    expect(await opened.store.get("thing", "r1")).toBeUndefined();
  });

  test("whoever asks for a name with text that no database can hold finds nothing", async () => {
    await using opened = await open();
    const like = insertOf({ id: "r1\ufffd", account: "r1\ufffd", unique: [nameKey("r1\ufffd")] });
    await opened.store.commit([insertOf({ id: "r1", unique: [nameKey("n")] }), like]);
    for (const odd of ["r1\u0000", "\u0000", "r1\ud800"]) {
      expect(await opened.store.get("thing", odd)).toBeUndefined();
      expect(await opened.store.find("thing", nameKey(odd))).toBeUndefined();
      expect(await opened.store.list({ kind: "thing", account: odd, limit: 9 })).toEqual([]);
      expect(await opened.store.list({ kind: "thing", after: { createdAt: -1, id: odd }, limit: 9 })).toEqual([]);
    }
  });

  test("what no database can hold of a document is replaced", async () => {
    await using opened = await open();
    const odd = { why: "a\u0000b\ud800", list: ["\udc00"], map: { "k\u0000": 1 }, json: '"\\u0000"', pair: "🌊" };
    const clean = { why: "a\ufffdb\ufffd", list: ["\ufffd"], map: { "k\ufffd": 1 }, json: '"\\u0000"', pair: "🌊" };
    const written = [
      ...(await opened.store.commit([insertOf({ id: "inserted", doc: odd }), insertOf({ id: "patched" })])),
      ...(await opened.store.commit([patchOf("patched", odd)])),
    ];
    expect([written[0]!.doc, written[2]!.doc]).toEqual([clean, clean]);
    for (const id of ["inserted", "patched"]) expect((await opened.store.get("thing", id))!.doc).toEqual(clean);
    await expect(opened.store.commit([patchOf("a\u0000", odd)])).rejects.toMatchObject({ reason: "missing" });
    await expect(opened.store.commit([removeOf("a\u0000")])).rejects.toMatchObject({ reason: "missing" });
    expect(await opened.store.count({ kind: "thing", account: "a\u0000" })).toBe(0);
    await opened.store.removeAccount("a\u0000");
    expect(await opened.store.count({ kind: "thing", account: "a" })).toBe(2);
  });

  test("an id is taken within its kind and free in another", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "r1" });
    await expect(seed(opened.store, { id: "r1" })).rejects.toMatchObject({ reason: "id-taken", index: 0 });
    await seed(opened.store, { kind: "other", id: "r1" });
  });

  test("a patch raises the version, keeps fields it does not name and removes those it unsets", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "r1", doc: { size: 1, colour: "red", fromALaterRelease: { deep: [1] } } });
    const [patched] = await opened.store.commit([{ ...patchOf("r1", { size: 2, shape: "round" }), unset: ["colour"] }]);
    expect(patched).toMatchObject({ version: 2, account: "a" });
    expect(patched!.doc).toEqual({ size: 2, shape: "round", fromALaterRelease: { deep: [1] } });
    expect(await opened.store.get("thing", "r1")).toEqual(patched);
  });

  test("a patch replaces a nested value whole", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "r1", doc: { nested: { one: 1, two: 2 } } });
    const [patched] = await opened.store.commit([patchOf("r1", { nested: { two: 3 } })]);
    expect(patched!.doc).toEqual({ nested: { two: 3 } });
  });

  test("a patch or removal of a version that has passed is refused as changed", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "r1", doc: { size: 1 } });
    await opened.store.commit([{ ...patchOf("r1", { size: 2 }), ifVersion: 1 }]);
    const late = { reason: "changed", index: 0 };
    await expect(opened.store.commit([{ ...patchOf("r1", { size: 3 }), ifVersion: 1 }])).rejects.toMatchObject(late);
    await expect(opened.store.commit([{ ...removeOf("r1"), ifVersion: 1 }])).rejects.toMatchObject(late);
    expect(await opened.store.get("thing", "r1")).toMatchObject({ version: 2, doc: { size: 2 } });
  });

  test("a patch or removal of a record that does not exist is refused as missing", async () => {
    await using opened = await open();
    const missing = { reason: "missing", index: 0 };
    await expect(opened.store.commit([patchOf("r1", { size: 1 })])).rejects.toMatchObject(missing);
    await expect(opened.store.commit([{ ...removeOf("r1"), ifVersion: 1 }])).rejects.toMatchObject(missing);
  });

  test("a removal returns the record as it was", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "r1", doc: { size: 1 } });
    const [removed] = await opened.store.commit([{ ...removeOf("r1"), ifVersion: 1 }]);
    expect(removed).toMatchObject({ id: "r1", version: 1, doc: { size: 1 } });
    expect(await opened.store.get("thing", "r1")).toBeUndefined();
  });

  test("of 50 removals of one record at once, one wins", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "r1" });
    const { won, refused } = await settled(Array.from({ length: 50 }, () => opened.store.commit([removeOf("r1")])));
    expect([won.length, new Set(refused)]).toEqual([1, new Set(["missing"])]);
  });

  test("of 50 patches of one version at once, one wins", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "r1", doc: {} });
    const patches = Array.from({ length: 50 }, (_, by) =>
      opened.store.commit([{ ...patchOf("r1", { by }), ifVersion: 1 }]),
    );
    const { won, refused } = await settled(patches);
    expect(won).toHaveLength(1);
    expect(refused).toEqual(Array(49).fill("changed"));
    expect(await opened.store.get("thing", "r1")).toEqual(won[0]![0]);
  });

  test("unconditional patches at once all apply", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "r1", doc: {} });
    const names = Array.from({ length: 20 }, (_, i) => `field${i}`);
    await Promise.all(names.map((field) => opened.store.commit([patchOf("r1", { [field]: true })])));
    const record = await opened.store.get("thing", "r1");
    expect(record!.version).toBe(21);
    expect(Object.keys(record!.doc).sort()).toEqual(names.sort());
  });
}

function uniqueKeyCases(open: OpenStore): void {
  test("a record is found by its unique key", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "r1", unique: [nameKey("web")] });
    expect(await opened.store.find("thing", nameKey("web"))).toMatchObject({ id: "r1" });
    expect(await opened.store.find("thing", nameKey("db"))).toBeUndefined();
    expect(await opened.store.find("other", nameKey("web"))).toBeUndefined();
  });

  test("a key is taken within its scope, name and kind, and free in any other", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "r1", unique: [nameKey("web")] });
    const taken = seed(opened.store, { id: "r2", unique: [nameKey("web")] });
    await expect(taken).rejects.toMatchObject({ reason: "key-taken", index: 0 });
    await seed(opened.store, { id: "r3", unique: [{ ...nameKey("web"), scope: "b" }] });
    await seed(opened.store, { id: "r4", unique: [{ ...nameKey("web"), name: "alias" }] });
    await seed(opened.store, { id: "r5", kind: "other", unique: [nameKey("web")] });
    expect(await opened.store.get("thing", "r2")).toBeUndefined();
  });

  test("keys compare exactly: case and accents tell them apart", async () => {
    await using opened = await open();
    const names = ["resume", "Resume", "résumé", "re\u0301sume\u0301", "resume "];
    for (const [i, name] of names.entries()) await seed(opened.store, { id: `r${i}`, unique: [nameKey(name)] });
    expect(await opened.store.find("thing", nameKey("résumé"))).toMatchObject({ id: "r2" });
  });

  test("a patch moves keys, keeps those it names again and frees the rest", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "r1", unique: [nameKey("old"), nameKey("kept")] });
    await opened.store.commit([{ ...patchOf("r1", {}), unique: [nameKey("kept"), nameKey("new")] }]);
    expect(await opened.store.find("thing", nameKey("new"))).toMatchObject({ id: "r1" });
    expect(await opened.store.find("thing", nameKey("kept"))).toMatchObject({ id: "r1" });
    await seed(opened.store, { id: "r2", unique: [nameKey("old")] });
  });

  test("a patch that names no keys keeps them", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "r1", unique: [nameKey("web")] });
    await opened.store.commit([patchOf("r1", { size: 2 })]);
    expect(await opened.store.find("thing", nameKey("web"))).toMatchObject({ id: "r1", version: 2 });
  });

  test("a patch to a key of another record is refused and changes nothing", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "r1", unique: [nameKey("web")] });
    await seed(opened.store, { id: "r2", unique: [nameKey("db")], doc: { size: 1 } });
    const taken = opened.store.commit([{ ...patchOf("r2", { size: 2 }), unique: [nameKey("web")] }]);
    await expect(taken).rejects.toMatchObject({ reason: "key-taken", index: 0 });
    expect(await opened.store.find("thing", nameKey("db"))).toMatchObject({ id: "r2", version: 1, doc: { size: 1 } });
  });

  test("a removed record's keys are free", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "r1", unique: [nameKey("web")] });
    await opened.store.commit([removeOf("r1")]);
    expect(await opened.store.find("thing", nameKey("web"))).toBeUndefined();
    await seed(opened.store, { id: "r2", unique: [nameKey("web")] });
  });

  test("of 50 inserts with one key at once, one wins", async () => {
    await using opened = await open();
    const ids = Array.from({ length: 50 }, (_, i) => `r${i}`);
    const { won, refused } = await settled(ids.map((id) => seed(opened.store, { id, unique: [nameKey("web")] })));
    expect(won).toHaveLength(1);
    expect(refused).toEqual(Array(49).fill("key-taken"));
    expect(await opened.store.list({ kind: "thing", limit: 100 })).toEqual([won[0]]);
  });
}

function commitCases(open: OpenStore): void {
  test("a commit writes all of its records, and later writes see earlier ones", async () => {
    await using opened = await open();
    const written = await opened.store.commit([
      insertOf({ id: "r1", doc: { size: 1 }, unique: [nameKey("web")] }),
      { ...patchOf("r1", { size: 2 }), ifVersion: 1, unique: [] },
      insertOf({ id: "r2", unique: [nameKey("web")] }),
      removeOf("r2"),
      insertOf({ id: "r2", doc: { again: true } }),
    ]);
    expect(written.map(({ id, version }) => [id, version])).toEqual([
      ["r1", 1],
      ["r1", 2],
      ["r2", 1],
      ["r2", 1],
      ["r2", 1],
    ]);
    expect(await opened.store.get("thing", "r1")).toMatchObject({ version: 2, doc: { size: 2 } });
    expect(await opened.store.get("thing", "r2")).toMatchObject({ doc: { again: true } });
    expect(await opened.store.find("thing", nameKey("web"))).toBeUndefined();
  });

  const refusedWrites: [string, Write][] = [
    ["id-taken", insertOf({ id: "known" })],
    ["key-taken", insertOf({ id: "r9", unique: [nameKey("taken")] })],
    ["missing", removeOf("unknown")],
    ["changed", { ...patchOf("known", {}), ifVersion: 9 }],
  ];
  test.for(refusedWrites)("a commit whose third write is refused as %s leaves no trace", async ([reason, write]) => {
    await using opened = await open();
    await seed(opened.store, { id: "known", doc: { size: 1 }, unique: [nameKey("taken")] });
    const before = insertOf({ id: "r1", unique: [nameKey("fresh")] });
    const commit = opened.store.commit([before, patchOf("known", { size: 2 }), write]);
    await expect(commit).rejects.toMatchObject({ reason, index: 2 });
    expect(await opened.store.get("thing", "r1")).toBeUndefined();
    expect(await opened.store.find("thing", nameKey("fresh"))).toBeUndefined();
    expect(await opened.store.get("thing", "known")).toMatchObject({ version: 1, doc: { size: 1 } });
  });

  test("a refused commit takes no other commit down with it", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "known" });
    const ids = Array.from({ length: 20 }, (_, i) => (i % 2 ? "known" : `r${i}`));
    const { won, refused } = await settled(ids.map((id) => seed(opened.store, { id })));
    expect(won.map(({ id }) => id)).toEqual(ids.filter((id) => id !== "known"));
    expect(refused).toEqual(Array(10).fill("id-taken"));
  });

  test("an empty commit is nothing", async () => {
    await using opened = await open();
    expect(await opened.store.commit([])).toEqual([]);
  });

  test("commits that touch the same records in opposite orders all apply", async () => {
    await using opened = await open();
    const ids = ["r1", "r2", "r3"];
    await opened.store.commit(ids.map((id) => insertOf({ id })));
    const orders = Array.from({ length: 30 }, (_, i) => (i % 2 ? ids : ids.toReversed()));
    await Promise.all(orders.map((order) => opened.store.commit(order.map((id) => patchOf(id, { touched: true })))));
    for (const id of ids) expect(await opened.store.get("thing", id)).toMatchObject({ version: 31 });
  });

  test("commits that claim the same keys in opposite orders end with one owner of all of them", async () => {
    await using opened = await open();
    const names = ["web", "db", "cache"];
    const claim = (order: string[], i: number) =>
      opened.store.commit(order.map((name) => insertOf({ id: `${name}-${i}`, unique: [nameKey(name)] })));
    const orders = Array.from({ length: 6 }, (_, i) => (i % 2 ? names : names.toReversed()));
    const { won, refused } = await settled(orders.map(claim));
    expect(won).toHaveLength(1);
    expect(refused).toEqual(Array(5).fill("key-taken"));
  });
}

function documentCases(open: OpenStore): void {
  const documents: [string, Document][] = [
    ["unicode", { "schlüssel 🔑": "grüße 世界 \u{1f600} \u202e \u0001 \uffff", e: "e\u0301" }],
    ["quotes and SQL", { text: `'; DROP TABLE records; -- " \\ $1 ? :x %s`, "a'b\"c": ["\n\t\r\\u0041"] }],
    [
      "every kind of value",
      { n: null, t: true, list: [1, -2.5, 1e21, 5e-324, 2 ** 53 - 1, "x", [], {}], nested: { a: { b: [] } } },
    ],
    ["names with a meaning elsewhere", { constructor: "a", toString: "b", "": "c", id: "other", version: 99, doc: {} }],
  ];
  test.for(documents)("a document with %s comes back as it was", async ([, doc]) => {
    await using opened = await open();
    await seed(opened.store, { id: "r1", doc });
    await opened.store.commit([insertOf({ id: "r2" }), patchOf("r2", doc)]);
    expect((await opened.store.get("thing", "r1"))!.doc).toStrictEqual(doc);
    expect((await opened.store.get("thing", "r2"))!.doc).toStrictEqual(doc);
  });

  test("a document of 20 MB comes back as it was", async () => {
    await using opened = await open();
    const text = "0123456789 ünd".repeat(LARGE_TEXT / 14);
    await seed(opened.store, { id: "r1", doc: { text } });
    const record = await opened.store.get("thing", "r1");
    expect(record!.doc.text === text).toBe(true);
  });

  test("a field set to undefined is removed, for JSON has no such value", async () => {
    await using opened = await open();
    await seed(opened.store, { id: "r1", doc: { kept: 1, never: undefined, gone: 2 } });
    const [patched] = await opened.store.commit([patchOf("r1", { gone: undefined })]);
    expect(patched!.doc).toStrictEqual({ kept: 1 });
    expect((await opened.store.get("thing", "r1"))!.doc).toStrictEqual({ kept: 1 });
  });

  test("a caller that changes what it gave or got does not change the store", async () => {
    await using opened = await open();
    const given = { list: [1] };
    const [written] = await opened.store.commit([insertOf({ id: "r1", doc: given })]);
    const got = await opened.store.get("thing", "r1");
    const [listed] = await opened.store.list({ kind: "thing", limit: 1 });
    for (const doc of [given, written!.doc, got!.doc, listed!.doc]) tryToPush(doc.list as number[], 2);
    expect((await opened.store.get("thing", "r1"))!.doc).toEqual({ list: [1] });
    expect((await opened.store.list({ kind: "thing", limit: 1 }))[0]!.doc).toEqual({ list: [1] });
  });
}

/** A document that readers share may be frozen. */
function tryToPush(list: number[], value: number): void {
  if (!Object.isFrozen(list)) list.push(value);
}

function accountCases(open: OpenStore): void {
  test("removing an account removes its records of every kind, frees their keys and touches no other account", async () => {
    await using opened = await open();
    const everywhere = { scope: "*", name: "digest", value: "d" };
    await seed(opened.store, { id: "r1", account: "a", unique: [nameKey("web"), everywhere] });
    await seed(opened.store, { id: "r2", account: "a", kind: "other" });
    const kept = await seed(opened.store, { id: "r3", account: "b", unique: [{ ...nameKey("web"), scope: "b" }] });
    await opened.store.removeAccount("a");
    expect(await opened.store.get("thing", "r1")).toBeUndefined();
    expect(await opened.store.get("other", "r2")).toBeUndefined();
    expect(await opened.store.find("thing", { ...nameKey("web"), scope: "b" })).toEqual(kept);
    await seed(opened.store, { id: "r4", account: "b", unique: [nameKey("web"), everywhere] });
  });

  test("removing an account that has nothing is no error", async () => {
    await using opened = await open();
    await expect(opened.store.removeAccount("nobody")).resolves.toBeUndefined();
  });
}

function restartCases(open: OpenStore): void {
  test("everything is still there after closing and opening again", async (context) => {
    await using opened = await open();
    const { reopen } = opened;
    if (typeof reopen !== "function") return context.skip(reopen.cannot);
    await opened.store.commit([insertOf({ id: "r1", unique: [nameKey("web")] }), insertOf({ id: "r2" })]);
    const [patched] = await opened.store.commit([patchOf("r1", { size: 2 }), removeOf("r2")]);
    const fence = await opened.store.lease({ name: "sweeper", holder: "n1", now: 0, until: 10 });

    const store = await reopen();
    expect(await store.list({ kind: "thing", limit: 10 })).toEqual([patched]);
    expect(await store.find("thing", nameKey("web"))).toEqual(patched);
    await expect(seed(store, { id: "r3", unique: [nameKey("web")] })).rejects.toMatchObject({ reason: "key-taken" });
    expect(await store.lease({ name: "sweeper", holder: "n2", now: 5, until: 15 })).toBeUndefined();
    expect(await store.lease({ name: "sweeper", holder: "n1", now: 5, until: 15 })).toBe(fence);
  });
}
