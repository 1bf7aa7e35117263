/** Records of one kind, as today's release reads and writes them over what other releases stored. */
import { describe, expect, test } from "vitest";
import type { Document, Kept } from "../../kernel/document.ts";
import { Collection } from "./collection.ts";
import { MemoryStore } from "./memory-store.ts";
import type { Listing, StoredRecord, Write } from "./store.ts";

interface Tool extends Document {
  name: string;
  size?: number;
  colour?: string;
  serial?: string;
}

const current: Kept<Tool> = {
  kind: "tool",
  v: 3,
  upcasts: {
    1: ({ label, ...rest }) => ({ ...rest, name: label }),
    2: (old) => ({ size: 1, ...old }),
  },
  unique: ({ name }) => ({ name }),
  uniqueEverywhere: ({ serial }) => ({ serial }),
};

const tool = (id: string, doc: Tool, account = "a") => ({ id, account, createdAt: 0, doc });

function setup(store = new MemoryStore()) {
  const stored = async (id: string) => (await store.get("tool", id))!.doc;
  const storeOld = (id: string, doc: Document, unique = [{ scope: "a", name: "name", value: String(doc.label) }]) =>
    store.commit([{ do: "insert", record: { kind: "tool", id, account: "a", createdAt: 0, doc, unique } }]);
  return { store, stored, storeOld, tools: new Collection(store, current) };
}

describe("formats", () => {
  test("a document of an older release is read in today's format, and stored as it was until it is changed", async () => {
    const { tools, stored, storeOld } = setup();
    await storeOld("t1", { label: "saw" });
    expect((await tools.get("t1"))!.doc).toEqual({ v: 3, name: "saw", size: 1 });
    expect(await stored("t1")).toEqual({ label: "saw" });
  });

  test("every way of reading upcasts", async () => {
    const { tools, storeOld } = setup();
    await storeOld("t1", { v: 1, label: "saw" });
    const items = [
      await tools.find("a", "name", "saw"),
      ...(await tools.list({ limit: 1 })),
      ...(await Array.fromAsync(tools.all())),
    ];
    expect(items.map((item) => item?.doc.name)).toEqual(["saw", "saw", "saw"]);
  });

  test("a patch stores an older document in today's format, without the fields that format gave up", async () => {
    const { tools, stored, storeOld } = setup();
    await storeOld("t1", { v: 1, label: "saw", note: "kept" });
    await tools.patch((await tools.get("t1"))!, { colour: "red" });
    expect(await stored("t1")).toEqual({ v: 3, name: "saw", size: 1, colour: "red", note: "kept" });
  });

  test("a field given up by one format may be used again by a later one", async () => {
    const { tools, stored, storeOld } = setup();
    await storeOld("t1", { v: 1, label: "saw" });
    await tools.patch((await tools.get("t1"))!, { label: "sharp" });
    expect(await stored("t1")).toMatchObject({ name: "saw", label: "sharp" });
  });

  test("a document of a newer release is refused with the reason", async () => {
    const { tools, storeOld } = setup();
    await storeOld("t1", { v: 4, title: "saw" });
    await expect(tools.get("t1")).rejects.toThrow(
      /tool records of format 4, but .* up to 3: it was written by a newer release/,
    );
  });

  test("data that a newer release has prepared is refused at start, before anything is read", async () => {
    const { store, tools } = setup();
    await new Collection(store, { ...current, v: 4 }).prepare();
    await expect(tools.prepare()).rejects.toThrow(/tool records of format 4, but .* up to 3/);
  });

  test("preparing twice, or on several nodes at once, is preparing once", async () => {
    const { store, tools } = setup();
    await Promise.all([tools.prepare(), tools.prepare(), new Collection(store, current).prepare()]);
    await tools.prepare();
    expect(await store.get("format", "tool")).toMatchObject({ version: 1, doc: { format: 3, keysVersion: 1 } });
  });
});

describe("writing", () => {
  test("an inserted record carries its format and is found by its keys", async () => {
    const { tools, stored } = setup();
    const item = await tools.insert(tool("t1", { name: "saw", serial: "s1" }));
    expect(item).toMatchObject({ id: "t1", account: "a", version: 1, doc: { name: "saw" } });
    expect(await stored("t1")).toEqual({ v: 3, name: "saw", serial: "s1" });
    expect(await tools.find("a", "name", "saw")).toEqual(item);
    expect(await tools.findEverywhere("serial", "s1")).toEqual(item);
    expect(await tools.find("b", "name", "saw")).toBeUndefined();
  });

  test("a name is taken in its account, a serial in every account", async () => {
    const { tools } = setup();
    await tools.insert(tool("t1", { name: "saw", serial: "s1" }));
    await tools.insert(tool("t2", { name: "saw", serial: "s2" }, "b"));
    await expect(tools.insert(tool("t3", { name: "saw" }))).rejects.toMatchObject({ reason: "key-taken" });
    await expect(tools.insert(tool("t4", { name: "axe", serial: "s1" }, "b"))).rejects.toMatchObject({
      reason: "key-taken",
    });
  });

  test("a patch keeps fields that this release does not know", async () => {
    const { tools, stored, store } = setup();
    await tools.insert(tool("t1", { name: "saw" }));
    await store.commit([{ do: "patch", kind: "tool", id: "t1", set: { fromALaterRelease: [1] } }]);
    const patched = await tools.patch((await tools.get("t1"))!, { size: 2 });
    expect(patched.doc).toEqual({ v: 3, name: "saw", size: 2, fromALaterRelease: [1] });
    expect(await stored("t1")).toEqual(patched.doc);
  });

  test("a put removes the optional fields that it names and lacks, and keeps what this release does not know", async () => {
    const { tools, store } = setup();
    await tools.insert(tool("t1", { name: "saw", serial: "s1" }));
    await store.commit([{ do: "patch", kind: "tool", id: "t1", set: { fromALaterRelease: [1] } }]);
    const put = await tools.put(tool("t1", { name: "axe" }), ["serial"]);
    expect(put.doc).toEqual({ v: 3, name: "axe", fromALaterRelease: [1] });
    expect(await tools.findEverywhere("serial", "s1")).toBeUndefined();
  });

  test("a patch of a record that was changed since it was read is refused", async () => {
    const { tools } = setup();
    const read = await tools.insert(tool("t1", { name: "saw" }));
    await tools.patch(read, { size: 2 });
    await expect(tools.patch(read, { size: 3 })).rejects.toMatchObject({ reason: "changed" });
  });

  test("a patch moves the keys, and a field unset gives its key up", async () => {
    const { tools } = setup();
    const read = await tools.insert(tool("t1", { name: "saw", serial: "s1" }));
    const renamed = await tools.patch(read, { name: "axe" }, ["serial"]);
    expect(renamed.doc).toEqual({ v: 3, name: "axe" });
    expect(await tools.find("a", "name", "axe")).toEqual(renamed);
    expect(await tools.find("a", "name", "saw")).toBeUndefined();
    expect(await tools.findEverywhere("serial", "s1")).toBeUndefined();
  });

  test("a removed record is gone, and its keys are free", async () => {
    const { tools } = setup();
    await tools.insert(tool("t1", { name: "saw" }));
    await tools.remove("t1");
    expect(await tools.get("t1")).toBeUndefined();
    await tools.insert(tool("t2", { name: "saw" }));
  });

  test("all records are walked, however many pages they take", async () => {
    const { store, tools } = setup();
    await store.commit(Array.from({ length: 1_001 }, (_, i) => tools.inserting(tool(`t${i}`, { name: `n${i}` }))));
    expect(new Set((await Array.fromAsync(tools.all({ account: "a" }))).map(({ id }) => id)).size).toBe(1_001);
  });
});

describe("lists by key", () => {
  const listed: Kept<Tool> = { ...current, listed: ({ colour, serial }) => ({ colour: colour?.split(" "), serial }) };
  const inColour = { key: { name: "colour", value: "red" } };

  test("records are listed, walked and counted by what the model says, as it is now", async () => {
    const { store } = setup();
    const tools = new Collection(store, listed);
    const saw = await tools.insert(tool("t1", { name: "saw", colour: "red blue" }));
    await tools.insert(tool("t2", { name: "axe", colour: "red" }, "b"));
    await tools.insert(tool("t3", { name: "file" }));
    expect((await Array.fromAsync(tools.all(inColour))).map(({ id }) => id)).toEqual(["t2", "t1"]);
    expect(await tools.count({ account: "a", ...inColour })).toBe(1);
    await tools.patch(saw, { colour: "blue" });
    expect((await tools.list({ ...inColour, limit: 10 })).map(({ id }) => id)).toEqual(["t2"]);
  });

  test("records that an earlier release wrote are on the lists after the first start", async () => {
    const { store, tools } = setup();
    await tools.prepare();
    await tools.insert(tool("t1", { name: "saw", colour: "red" }));
    const later = new Collection(store, { ...listed, keysVersion: 2 });
    await later.prepare();
    expect(await later.count(inColour)).toBe(1);
  });
});

describe("changes", () => {
  test("two changes at once both happen", async () => {
    const { tools } = setup();
    await tools.insert(tool("t1", { name: "saw", size: 0 }));
    const grow = () => tools.change("t1", ({ doc }) => ({ set: { size: doc.size! + 1 } }));
    await Promise.all(Array.from({ length: 20 }, grow));
    expect((await tools.get("t1"))!.doc.size).toBe(20);
  });

  test("what is to be written with a change is written with it or not at all, and made again when it is behind", async () => {
    const { tools } = setup();
    await tools.insert(tool("t1", { name: "saw", size: 0 }));
    await tools.insert(tool("t2", { name: "axe", size: 0 }));
    let tries = 0;
    const changed = await tools.change("t1", async ({ doc }) => {
      const other = (await tools.get("t2"))!;
      if (tries++ === 0) await tools.patch(other, { size: 5 });
      return { set: { size: doc.size! + 1 }, also: [tools.patching(other, { colour: "red" })] };
    });
    expect(changed).toMatchObject({ version: 2, doc: { size: 1 } });
    expect((await tools.get("t2"))!.doc).toMatchObject({ size: 5, colour: "red" });
    expect(tries).toBe(2);
  });

  test("a decision of nothing leaves the record, one to remove it removes it, and there is none to change afterwards", async () => {
    const { tools } = setup();
    const saw = await tools.insert(tool("t1", { name: "saw" }));
    expect(await tools.change("t1", () => undefined)).toEqual(saw);
    expect(await tools.change("t1", () => ({ remove: true }))).toMatchObject({ id: "t1" });
    expect(await tools.change("t1", () => ({ set: { size: 2 } }))).toBeUndefined();
  });

  test("a key that another record holds is no reason to try again", async () => {
    const { tools } = setup();
    await tools.insert(tool("t1", { name: "saw" }));
    await tools.insert(tool("t2", { name: "axe" }));
    await expect(tools.change("t2", () => ({ set: { name: "saw" } }))).rejects.toMatchObject({ reason: "key-taken" });
  });

  test("what belongs to somebody else does not exist, in the words that callers know", async () => {
    const { store } = setup();
    const tools = new Collection(store, { ...current, called: "power tool" });
    await tools.insert(tool("t1", { name: "saw" }));
    expect(await tools.owned({ account: "a" }, "t1")).toMatchObject({ id: "t1" });
    const notFound = { code: "not-found", message: "power tool not found" };
    await expect(tools.owned({ account: "b" }, "t1")).rejects.toMatchObject(notFound);
    await expect(tools.changeOwned({ account: "b" }, "t1", () => ({ remove: true }))).rejects.toMatchObject(notFound);
    await expect(tools.changeOwned({ account: "a" }, "t9", () => ({ remove: true }))).rejects.toMatchObject(notFound);
    await expect(tools.removeOwned({ account: "b" }, "t1")).rejects.toMatchObject(notFound);
    expect(await tools.get("t1")).toBeDefined();
    await tools.removeOwned({ account: "a" }, "t1");
    expect(await tools.get("t1")).toBeUndefined();
  });

  test("an account's records come in pages, the newest first, and the last says that there is no more", async () => {
    const { tools } = setup();
    for (const id of ["t1", "t2", "t3"]) await tools.insert(tool(id, { name: id }));
    const first = await tools.page({ account: "a" }, { limit: 2 });
    expect(first.items.map(({ id }) => id)).toEqual(["t3", "t2"]);
    const second = await tools.page({ account: "a" }, { after: first.next, limit: 2 });
    expect([second.items.map(({ id }) => id), second.next]).toEqual([["t1"], undefined]);
    expect(await tools.page({ account: "b" }, { limit: 2 })).toEqual({ items: [], next: undefined });
  });

  test("a record of which there is one is put, whether it is there or not, by any number at once", async () => {
    const { tools } = setup();
    const sizes = Array.from({ length: 10 }, (_, size) => size);
    await Promise.all(sizes.map((size) => tools.put(tool("only", { name: "saw", size }))));
    expect(sizes).toContain((await tools.get("only"))!.doc.size);
    await tools.removeIfThere("only");
    await tools.removeIfThere("only");
    expect(await tools.get("only")).toBeUndefined();
  });
});

describe("keys that are computed differently", () => {
  const lowerCase: Kept<Tool> = { ...current, unique: ({ name }) => ({ name: name.toLowerCase() }), keysVersion: 2 };

  test("they are rebuilt at start, once", async () => {
    const { store, tools } = setup();
    await tools.prepare();
    await tools.insert(tool("t1", { name: "Saw" }));
    const later = new Collection(store, lowerCase);
    await later.prepare();
    expect(await later.find("a", "name", "saw")).toMatchObject({ id: "t1", version: 2 });
    expect(await later.find("a", "name", "Saw")).toBeUndefined();
    await later.prepare();
    expect(await later.get("t1")).toMatchObject({ version: 2 });
  });

  test("very many take few commits", async () => {
    const store = new CountingStore();
    const { tools } = setup(store);
    await tools.prepare();
    for (let i = 0; i < 450; i++) await tools.insert(tool(`t${i}`, { name: `Saw ${i}` }));
    store.commits = 0;
    const later = new Collection(store, lowerCase);
    await later.prepare();
    expect(store.commits).toBeLessThan(5);
    for (const i of [0, 200, 449]) expect(await later.find("a", "name", `saw ${i}`)).toMatchObject({ id: `t${i}` });
  });

  test("a record changed or removed by another node meanwhile keeps what that node gave it", async () => {
    const store = new InterruptedStore();
    const { tools } = setup(store);
    await tools.prepare();
    const changed = await tools.insert(tool("t1", { name: "Saw" }));
    await tools.insert(tool("t2", { name: "Axe" }));
    store.meanwhile = async () => {
      await tools.patch(changed, { name: "Plane" });
      await tools.remove("t2");
    };
    const later = new Collection(store, lowerCase);
    await later.prepare();
    expect(await later.find("a", "name", "plane")).toMatchObject({ id: "t1" });
    expect(await later.find("a", "name", "saw")).toBeUndefined();
  });

  test("two records that would share a key stop the start, with their names", async () => {
    const { store, tools } = setup();
    await tools.prepare();
    await tools.insert(tool("t1", { name: "Saw" }));
    await tools.insert(tool("t2", { name: "SAW" }));
    const start = new Collection(store, lowerCase).prepare();
    await expect(start).rejects.toThrow(/tool t1 .*another record/);
  });
});

/** Lets something happen between reading a page and using it. */
class InterruptedStore extends MemoryStore {
  meanwhile: (() => Promise<void>) | undefined;

  override async list(listing: Listing): Promise<StoredRecord[]> {
    const page = await super.list(listing);
    const { meanwhile } = this;
    this.meanwhile = undefined;
    await meanwhile?.();
    return page;
  }
}

class CountingStore extends MemoryStore {
  commits = 0;

  override async commit(writes: Write[]): Promise<StoredRecord[]> {
    this.commits++;
    return super.commit(writes);
  }
}
