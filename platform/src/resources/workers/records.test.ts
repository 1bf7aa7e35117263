/** Records of workers: a write of the fleet is visible at once, and of two concurrent changes of a worker only one succeeds. */

import { expect, test } from "vitest";
import { idle } from "../../../tests/idle.ts";
import { putWorker, workerDoc } from "../../../tests/worker-doc.ts";
import { FakeClock } from "../../kernel/clock.ts";
import { because } from "../../kernel/reason.ts";
import { InstanceRecords } from "../../machines/instance-records.ts";
import { instances } from "../../machines/instances.ts";
import { Collection } from "../../ports/store/collection.ts";
import { MemoryStore } from "../../ports/store/memory-store.ts";
import type { Listing, StoredRecord, Write } from "../../ports/store/store.ts";
import type { KeptWorker } from "./model.ts";
import { WorkerRecords } from "./records.ts";

const SEEN_ELSEWHERE_MS = 1000;

function setup(store = new MemoryStore()) {
  const clock = new FakeClock();
  const another = () => new WorkerRecords({ store, instances: new InstanceRecords({ store, clock }) });
  const records = another();
  const insert = (id: string, given?: Partial<KeptWorker>) =>
    putWorker(records, { id, account: "acc", createdAt: clock.now(), doc: workerDoc(given) });
  return { store, clock, records, insert, another };
}

const ids = (items: readonly { id: string }[]) => items.map(({ id }) => id).toSorted();

test("workers are listed by endpoint, by machine and all together", async () => {
  const { records, insert } = setup();
  await insert("a", { machine: "m1" });
  await insert("b", { machine: "m2" });
  await insert("c", { owner: "other", machine: "m1" });
  expect(ids(await records.all())).toEqual(["a", "b", "c"]);
  expect(ids(await records.ofEndpoint("ep"))).toEqual(["a", "b"]);
  expect(ids(await records.ofMachine("m1"))).toEqual(["a", "c"]);
});

test("a move follows the lifecycle, takes other fields along and is seen at once", async () => {
  const { records, insert } = setup();
  const made = await insert("a");
  await records.all();
  const placed = await records.move(made, "place", { machine: "m1", reason: because("making-room") });
  expect(placed!.doc).toEqual({ ...made.doc, state: "PLACED", machine: "m1", reason: because("making-room") });
  expect(await records.all()).toEqual([placed]);
});

test("a move that the lifecycle lacks is refused", async () => {
  const { records, insert } = setup();
  const made = await insert("a");
  expect(() => records.move(made, "answer")).toThrow(
    "worker a cannot answer from WANTED to READY: its lifecycle has no such move",
  );
});

test("of two who move the same worker one succeeds, and the other then sees what was done", async () => {
  const { records, insert, another } = setup();
  await insert("a");
  const other = another();
  const [mine] = await records.all();
  const [theirs] = await other.all();
  expect((await other.move(theirs!, "place", { machine: "m2" }))!.doc.machine).toBe("m2");
  expect(await records.move(mine!, "place", { machine: "m1" })).toBeUndefined();
  expect((await records.all())[0]!.doc.machine).toBe("m2");
});

test("a field can be changed without a move, on the same terms", async () => {
  const { records, insert } = setup();
  const made = await insert("a");
  expect((await records.update(made, { reason: because("paused") }))!.doc).toMatchObject({
    ...{ state: "WANTED", reason: because("paused") },
  });
  expect(await records.update(made, { reason: because("idle", { seconds: 1 }) })).toBeUndefined();
});

test("a removed worker is gone, a second removal is no error, and it cannot be moved", async () => {
  const { records, insert } = setup();
  const made = await insert("a");
  await records.remove("a");
  await records.remove("a");
  expect(await records.all()).toEqual([]);
  expect(await records.move(made, "place")).toBeUndefined();
});

test("what another node wrote is seen within a second", async () => {
  const { records, clock, insert, another } = setup();
  const other = another();
  expect(await other.all()).toEqual([]);
  const made = await insert("a");
  await clock.advance(SEEN_ELSEWHERE_MS);
  expect(ids(await other.all())).toEqual(["a"]);
  await records.remove(made.id);
  await clock.advance(SEEN_ELSEWHERE_MS);
  expect(await other.all()).toEqual([]);
});

test("records are read once a second, however often they are asked for", async () => {
  const store = new CountedStore();
  const { records, insert } = setup(store);
  await insert("a");
  await Promise.all([records.all(), records.all(), records.ofEndpoint("ep")]);
  await records.all();
  expect(store.lists).toBe(1);
});

test("records are read again after a write of another node, and not after one of this node or of other records", async () => {
  const store = new CountedStore();
  const { records, insert, clock } = setup(store);
  const worker = await insert("a");
  await records.all();
  await records.move(worker, "place", { machine: "m1" });
  await store.commit([{ do: "insert", record: { ...OTHER, kind: "other", id: "o" } }]);
  await clock.advance(SEEN_ELSEWHERE_MS);
  expect((await records.all()).map(({ doc }) => doc.machine)).toEqual(["m1"]);
  expect(store.lists).toBe(1);
  await store.commit([{ do: "patch", kind: instances.kind, id: "a", set: { machine: "m2" } }]);
  await clock.advance(SEEN_ELSEWHERE_MS);
  expect((await records.all()).map(({ doc }) => doc.machine)).toEqual(["m2"]);
  expect(store.lists).toBe(2);
});

test("a write of another node is seen, although one of this node was under way when the records were read", async () => {
  const store = new CountedStore();
  const { records, insert, clock } = setup(store);
  const worker = await insert("a");
  await insert("b");
  await records.all();
  const answer = store.holdAnswer();
  const placing = records.move(worker, "place", { machine: "m1" });
  await clock.advance(SEEN_ELSEWHERE_MS);
  await records.all();
  answer();
  await placing;
  await store.commit([{ do: "patch", kind: instances.kind, id: "b", set: { machine: "m2" } }]);
  await clock.advance(SEEN_ELSEWHERE_MS);
  expect((await records.find("b"))?.doc.machine).toBe("m2");
});

test("a reading that failed is made again, although nothing was written since", async () => {
  const store = new CountedStore();
  const { records, clock } = setup(store);
  await new Collection(store, instances).insert({ id: "a", account: "acc", createdAt: 0, doc: workerDoc() });
  store.breaks = true;
  await expect(records.all()).rejects.toThrow("no answer");
  store.breaks = false;
  await clock.advance(SEEN_ELSEWHERE_MS);
  expect(await records.all()).toHaveLength(1);
});

test("a reading that began before a write does not undo it", async () => {
  const store = new CountedStore();
  const { records, insert, clock } = setup(store);
  const [kept, ended] = [await insert("kept"), await insert("ended")];
  const counted = await records.instances.counted();
  await clock.advance(SEEN_ELSEWHERE_MS);
  const open = store.hold();
  records.instances.forget();
  const reading = records.all();
  await idle();
  const placed = await records.move(kept, "place", { machine: "m1" });
  await records.remove(ended.id);
  const fresh = (await records.insert({ id: "new", account: "acc", createdAt: 0, doc: workerDoc() }, counted))!;
  open();
  const read = await reading;
  expect(read.toSorted((a, b) => a.id.localeCompare(b.id))).toEqual([placed, fresh]);
});

test("records that are forgotten while they are read are read once more", async () => {
  const store = new CountedStore();
  const { records, insert, clock } = setup(store);
  await insert("a");
  await records.all();
  await clock.advance(SEEN_ELSEWHERE_MS);
  records.instances.forget();
  const open = store.hold();
  const reading = records.all();
  await idle();
  await store.commit([{ do: "patch", kind: instances.kind, id: "a", set: { machine: "m2" } }]);
  records.instances.forget();
  const again = records.find("a");
  open();
  await reading;
  expect((await again)?.doc.machine).toBe("m2");
  expect((await records.find("a"))?.doc.machine).toBe("m2");
});

test("a late answer to a write does not undo what came after it", async () => {
  const store = new CountedStore();
  const { records, insert, clock } = setup(store);
  const answer = store.holdAnswer();
  const inserting = insert("a");
  await idle();
  await clock.advance(SEEN_ELSEWHERE_MS);
  const [made] = await records.all();
  store.answersAtOnce();
  const placed = await records.move(made!, "place", { machine: "m1" });
  answer();
  await inserting;
  expect(await records.all()).toEqual([placed]);
});

test("a worker goes with its account", async () => {
  const { store, records, clock, insert } = setup();
  await insert("a");
  await records.all();
  await store.removeAccount("acc");
  await clock.advance(SEEN_ELSEWHERE_MS);
  expect(await records.all()).toEqual([]);
  expect(await new Collection(store, instances).get("a")).toBeUndefined();
});

const OTHER = { account: "acc", createdAt: 0, doc: {}, unique: [] };

/** A store that counts its listings of workers and can delay one of them. */
class CountedStore extends MemoryStore {
  lists = 0;
  breaks = false;
  #gate: Promise<void> | undefined;
  #answer: Promise<void> | undefined;

  /** The next listing reads at once, but returns only when the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gate = promise;
    return resolve;
  }

  /** Commits are written at once, but answered only when the returned function is called. */
  holdAnswer(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#answer = promise;
    return resolve;
  }

  /** Commits from now on are answered at once, and those before wait still. */
  answersAtOnce(): void {
    this.#answer = undefined;
  }

  override async commit(writes: Write[]): Promise<StoredRecord[]> {
    const answer = this.#answer;
    const written = await super.commit(writes);
    await answer;
    return written;
  }

  override async list(listing: Listing): Promise<StoredRecord[]> {
    if (this.breaks) throw new Error("no answer");
    const found = await super.list(listing);
    if (listing.kind !== instances.kind) return found;
    this.lists++;
    await this.#gate;
    return found;
  }
}
