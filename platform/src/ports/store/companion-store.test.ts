/** A companion write goes with the first commit of a piece of work, once, and never without it. */
import { describe, expect, test } from "vitest";
import { CompanionStore } from "./companion-store.ts";
import { MemoryStore } from "./memory-store.ts";
import { storeConformance } from "./store.conformance.ts";
import type { Write } from "./store.ts";

storeConformance("CompanionStore", async () => {
  const inner = new MemoryStore();
  const store = new CompanionStore(inner);
  return {
    store,
    beside: async () => ({ store: new CompanionStore(inner), [Symbol.asyncDispose]: async () => {} }),
    reopen: { cannot: "a memory store ends with its process" },
    [Symbol.asyncDispose]: async () => store[Symbol.asyncDispose](),
  };
});

const insert = (kind: string, id: string): Write => ({
  do: "insert",
  record: { kind, id, account: "a", createdAt: 0, doc: {}, unique: [] },
});

describe("a companion", () => {
  async function setup() {
    const inner = new MemoryStore();
    const store = new CompanionStore(inner);
    const ids = async (kind: string) => (await inner.list({ kind, limit: 100 })).map(({ id }) => id).toSorted();
    return { store, ids };
  }

  test("goes with the first commit of the work, which sees nothing of it", async () => {
    const { store, ids } = await setup();
    const seen: Write[][] = [];
    const companion = (writes: readonly Write[]) => {
      seen.push([...writes]);
      return insert("note", "n");
    };
    await store.accompany(companion, async (taken) => {
      expect(taken()).toBeUndefined();
      expect(await store.commit([insert("thing", "1"), insert("thing", "2")])).toHaveLength(2);
      expect(taken()).toMatchObject({ kind: "note", id: "n", version: 1 });
      await store.commit([insert("thing", "3")]);
    });
    expect([await ids("thing"), await ids("note"), seen.length]).toEqual([["1", "2", "3"], ["n"], 1]);
  });

  test("goes with the next one where a commit is refused", async () => {
    const { store, ids } = await setup();
    await store.commit([insert("thing", "1")]);
    await store.accompany(
      () => insert("note", "n"),
      async (taken) => {
        await expect(store.commit([insert("thing", "1")])).rejects.toMatchObject({ reason: "id-taken", index: 0 });
        expect([taken(), await ids("note")]).toEqual([undefined, []]);
        await store.commit([insert("thing", "2")]);
      },
    );
    expect(await ids("note")).toEqual(["n"]);
  });

  test("goes once, with one of those that are made together, though the first be refused", async () => {
    const { store, ids } = await setup();
    await store.commit([insert("thing", "1")]);
    await store.accompany(
      () => insert("note", "n"),
      async () => {
        const all = ["1", "2", "3", "4"].map((id) => store.commit([insert("thing", id)]));
        await Promise.allSettled(all);
      },
    );
    expect([await ids("thing"), await ids("note")]).toEqual([["1", "2", "3", "4"], ["n"]]);
  });

  test("that is under way when the work ends is waited for, so that nobody writes it a second time", async () => {
    const { store, ids } = await setup();
    let left: Promise<unknown> | undefined;
    const taken = await store.accompany(
      () => insert("note", "n"),
      async (_taken, finish) => {
        left = store.commit([insert("thing", "1")]);
        return finish();
      },
    );
    expect(taken).toMatchObject({ kind: "note", id: "n" });
    await left;
    expect([await ids("thing"), await ids("note")]).toEqual([["1"], ["n"]]);
  });

  test("is not taken by what others commit, nor by what the work leaves behind", async () => {
    const { store, ids } = await setup();
    const gate = Promise.withResolvers<void>();
    let left: Promise<unknown> | undefined;
    await store.accompany(
      () => insert("note", "n"),
      async () => {
        left = gate.promise.then(() => store.commit([insert("thing", "late")]));
      },
    );
    await store.commit([insert("thing", "other")]);
    gate.resolve();
    await left;
    expect([await ids("thing"), await ids("note")]).toEqual([["late", "other"], []]);
  });

  test("of work within work, each has its own", async () => {
    const { store, ids } = await setup();
    await store.accompany(
      () => insert("note", "outer"),
      async () => {
        await store.accompany(
          () => insert("note", "inner"),
          () => store.commit([insert("thing", "1")]),
        );
        expect(await ids("note")).toEqual(["inner"]);
        await store.commit([insert("thing", "2")]);
      },
    );
    expect(await ids("note")).toEqual(["inner", "outer"]);
  });
});
