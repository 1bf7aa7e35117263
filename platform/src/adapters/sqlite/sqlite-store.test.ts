/** The SQLite store keeps the port's promises, also when only its files could break them. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { FakeClock, turn } from "../../kernel/clock.ts";
import { insertOf, seed } from "../../ports/store/conformance-records.ts";
import { type OpenedStore, storeConformance } from "../../ports/store/store.conformance.ts";
import { SqliteStore } from "./sqlite-store.ts";

interface Folder extends AsyncDisposable {
  path: string;
  file: string;
}

async function temporaryFolder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), "millrace-store-"));
  return { path, file: join(path, "store.db"), [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

async function openIn(folder: Folder, options: { thread: boolean }): Promise<OpenedStore> {
  let store = await SqliteStore.open(folder.file, options);
  return {
    store,
    async beside() {
      const other = await SqliteStore.open(folder.file, { thread: false });
      return { store: other, [Symbol.asyncDispose]: () => other[Symbol.asyncDispose]() };
    },
    async reopen() {
      await store[Symbol.asyncDispose]();
      store = await SqliteStore.open(folder.file, options);
      return store;
    },
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const variants = [
  { name: "SqliteStore with a writer thread", thread: true },
  { name: "SqliteStore without a thread", thread: false },
];

for (const { name, thread } of variants) {
  storeConformance(name, async () => openIn(await temporaryFolder(), { thread }));

  describe(name, () => {
    test("the text of a removed account is in no file any more, while the store is still open", async () => {
      await using folder = await temporaryFolder();
      await using store = await SqliteStore.open(folder.file, { thread });
      const text = "the-secret-of-account-a";
      await seed(store, { id: "r1", account: "a", doc: { text, long: text.repeat(1_000) }, unique: [key(text)] });
      await store.commit([
        { do: "patch", kind: "thing", id: "r1", set: { size: 2 } },
        insertOf({ id: "r2", account: "b" }),
      ]);
      expect(await filesWith(folder.path, text)).not.toEqual([]);
      await store.removeAccount("a");
      expect(await filesWith(folder.path, text)).toEqual([]);
    });

    test("what was removed or replaced is in no file any more once the store is scrubbed, which it does by itself soon after", async () => {
      await using folder = await temporaryFolder();
      const clock = new FakeClock();
      await using store = await SqliteStore.open(folder.file, { thread, clock });
      const fill = async (text: string) => {
        await seed(store, { id: text, doc: { text: `${text} first`, long: text.repeat(1_000) }, unique: [key(text)] });
        await store.commit([{ do: "patch", kind: "thing", id: text, set: { text: `${text} second` } }]);
      };
      await fill("lantern");
      expect(await filesWith(folder.path, "lantern first")).not.toEqual([]);
      await store.scrub();
      expect(await filesWith(folder.path, "lantern first")).toEqual([]);
      expect(await filesWith(folder.path, "lantern second")).not.toEqual([]);

      await fill("harbour");
      await store.commit([{ do: "remove", kind: "thing", id: "harbour" }]);
      expect(await filesWith(folder.path, "harbour")).not.toEqual([]);
      await clock.advance(1_000);
      await store.commit([]);
      expect(await filesWith(folder.path, "harbour")).toEqual([]);
      expect(clock.waiting).toBe(0);
    });

    test("a removal waits for somebody who reads an older state, and holds up no writer meanwhile", async () => {
      await using folder = await temporaryFolder();
      const clock = new FakeClock();
      await using store = await SqliteStore.open(folder.file, { thread, clock });
      await seed(store, { id: "r1", doc: { text: "lighthouse" } });
      expect(await store.scrub()).toBe(true);
      using reader = new DatabaseSync(folder.file, { readOnly: true });
      reader.exec("BEGIN");
      expect(reader.prepare("SELECT count(*) AS n FROM records WHERE kind = 'thing'").get()).toEqual({ n: 1 });
      const removing = store.removeAccount("a");
      // It has tried once, and waits to try again.
      while (clock.waiting === 0) await turn();
      expect(await filesWith(folder.path, "lighthouse")).not.toEqual([]);
      await seed(store, { id: "r2" });
      reader.exec("COMMIT");
      await clock.advance(50);
      await removing;
      expect(await filesWith(folder.path, "lighthouse")).toEqual([]);
      expect(clock.waiting).toBe(0);
    });

    test("a command beside a server leaves nothing of what it removed, and a start nothing of what a crash left", async () => {
      await using folder = await temporaryFolder();
      const clock = new FakeClock();
      await using server = await SqliteStore.open(folder.file, { thread, clock });
      await seed(server, { id: "r1", doc: { text: "orchard" } });
      const command = await SqliteStore.open(folder.file, { thread: false });
      await command.commit([{ do: "remove", kind: "thing", id: "r1" }]);
      await command[Symbol.asyncDispose]();
      expect(await filesWith(folder.path, "orchard")).toEqual([]);

      await seed(server, { id: "r2", doc: { text: "meadow" } });
      await server.commit([{ do: "remove", kind: "thing", id: "r2" }]);
      // The first server counts as dead, since its clock stands still.
      const next = new FakeClock();
      await using started = await SqliteStore.open(folder.file, { clock: next });
      await next.advance(1_000);
      await started.commit([]);
      expect(await filesWith(folder.path, "meadow")).toEqual([]);
    });

    test("a file written by a newer release is refused with the reason", async () => {
      await using folder = await temporaryFolder();
      using db = new DatabaseSync(folder.file);
      db.exec("PRAGMA user_version = 99");
      await expect(SqliteStore.open(folder.file, { thread })).rejects.toThrow(/has schema 99, but .* newer release/);
    });

    test("commits that wait for one flush share the next", async () => {
      await using folder = await temporaryFolder();
      await using store = await SqliteStore.open(folder.file, { thread });
      await Promise.all(Array.from({ length: 100 }, (_, i) => seed(store, { id: `r${i}` })));
      expect(store.flushes).toBeLessThanOrEqual(2);
    });

    test("a closed store refuses writes as unavailable", async () => {
      await using folder = await temporaryFolder();
      const store = await SqliteStore.open(folder.file, { thread });
      await store[Symbol.asyncDispose]();
      await expect(seed(store, { id: "r1" })).rejects.toMatchObject({ code: "unavailable" });
    });
  });
}

const key = (value: string) => ({ scope: "a", name: "name", value });

async function filesWith(folder: string, text: string): Promise<string[]> {
  const names = await readdir(folder);
  const contents = await Promise.all(names.map((name) => readFile(join(folder, name))));
  return names.filter((_, i) => contents[i]!.includes(text));
}
