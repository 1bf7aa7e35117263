/** A node tells others that it lives, and notices a second server with its id. */
import { expect, test } from "vitest";
import { FakeClock } from "../kernel/clock.ts";
import { Duties } from "../kernel/duties.ts";
import { MemoryStore } from "../ports/store/memory-store.ts";
import { Beat, type BeatParts } from "./beat.ts";

const BEAT_MS = 5000;
const log = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };

test("two servers with one node id each say which other one there is, and what to do, until one has ended", async () => {
  const clock = new FakeClock();
  const store = new MemoryStore();
  const open = (url: string) => {
    const duties = new Duties({ clock, log });
    const parts: BeatParts = {
      ...{ store, clock, own: [], alone: false, failed: duties.failed },
      node: { id: "n1", url: () => url, workerUrl: () => url },
      machines: { look: async () => {} },
      instanceRecords: { all: async () => [] } as unknown as BeatParts["instanceRecords"],
      activity: async () => ({}),
      loads: () => ({}),
    };
    const beat = new Beat(parts);
    return { beat: () => beat.beat(clock.now()), standing: () => duties.all()[0]! };
  };
  const [one, copy] = [open("http://10.0.0.1:7420"), open("http://10.0.0.2:7420")];
  const both = async () => {
    await one.beat();
    await copy.beat();
    await clock.advance(BEAT_MS);
  };
  await both();
  expect([one, copy].map(({ standing }) => standing().failuresInRow)).toEqual([0, 0]);
  await both();
  expect([one, copy].map(({ standing }) => standing().lastError!.text)).toEqual([
    expect.stringContaining("the server at http://10.0.0.2:7420 has this server's node id n1"),
    expect.stringMatching(
      /^the server at http:..10.0.0.1:7420 .*: stop one of them, remove the files node-id and machine-id/,
    ),
  ]);
  await one.beat();
  await clock.advance(BEAT_MS);
  await one.beat();
  expect(one.standing()).toMatchObject({ name: "be the only server of this node", failuresInRow: 0, runs: 4 });
});
