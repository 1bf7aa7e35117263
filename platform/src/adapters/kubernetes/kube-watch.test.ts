/** What is known of objects follows every change, whatever was missed. */
import { expect, test } from "vitest";
import { idle } from "../../../tests/idle.ts";
import { FakeClock } from "../../kernel/clock.ts";
import { type KubeApi, KubeAway, KubeRefused } from "./kube-api.ts";
import type { KubeObject } from "./kube-objects.ts";
import { Copy, Followed } from "./kube-watch.ts";

const object = (name: string, version: number, uid = name): KubeObject => ({
  metadata: { name, uid, resourceVersion: String(version) },
});

function setup() {
  const heard: string[] = [];
  const copy = new Copy<KubeObject>(({ metadata }, isDeleted) =>
    heard.push(`${metadata.uid}@${metadata.resourceVersion}${isDeleted ? " deleted" : ""}`),
  );
  return { copy, heard };
}

test("a list tells what came, what changed and what went while nobody listened", () => {
  const { copy, heard } = setup();
  copy.takeAll([object("a", 1), object("b", 2)], "3");
  copy.takeAll([object("b", 4), object("c", 5)], "6");
  expect(heard).toEqual(["a@1", "b@2", "a@1 deleted", "b@4", "c@5"]);
});

test("an older state than the known one is dropped, and so is a second copy", () => {
  const { copy, heard } = setup();
  copy.take(object("a", 10));
  for (const version of [9, 10]) copy.take(object("a", version));
  expect(heard).toEqual(["a@10"]);
});

test("an object that was made after the list is not taken for deleted", () => {
  const { copy, heard } = setup();
  copy.take(object("new", 20));
  copy.takeAll([], "15");
  expect([copy.all().length, heard]).toEqual([1, ["new@20"]]);
});

test("the end of an object is not that of the next one of its name", () => {
  const { copy, heard } = setup();
  copy.take(object("a", 1, "first"));
  copy.take(object("a", 5, "second"));
  copy.drop(object("a", 6, "first"));
  expect(copy.get("a")?.metadata.uid).toBe("second");
  expect(heard).toEqual(["first@1", "second@5"]);
});

test.each(["ends each watch at once", "says of each version that it is gone"])(
  "an API server that %s is asked a few times a second at most",
  async (what) => {
    const clock = new FakeClock();
    let asked = 0;
    const ask = async <T>(answer: () => T): Promise<T> => {
      if (++asked > 100) throw new Error("asked too often");
      return answer();
    };
    const api = {
      call: () => ask(() => ({ metadata: { resourceVersion: "1" }, items: [] })),
      stream: () =>
        ask(() => {
          if (what.startsWith("says")) throw new KubeRefused(410, "Expired", "too old resource version");
          return [];
        }),
    };
    const parts = { api: api as unknown as KubeApi, clock, path: "/pods", heard: () => {}, failed: () => {} };
    await using followed = new Followed<KubeObject>(parts);
    await followed.ready;
    for (let second = 0; second < 5; second++) {
      await clock.advance(1000);
      await idle();
    }
    expect(asked).toBeGreaterThan(3);
    expect(asked).toBeLessThan(30);
  },
);

test("an API server that was away at the start can be used when it is there", async () => {
  const clock = new FakeClock();
  let isAway = true;
  const call = async () => {
    if (isAway) throw new KubeAway("the Kubernetes API does not answer");
    return { metadata: { resourceVersion: "1" }, items: [] };
  };
  const stream = async () => [];
  const api = { call, stream } as unknown as KubeApi;
  await using followed = new Followed<KubeObject>({ api, clock, path: "/pods", heard: () => {}, failed: () => {} });
  await expect(followed.ready).rejects.toThrow("does not answer");
  isAway = false;
  await clock.advance(1000);
  await followed.ready;
});
