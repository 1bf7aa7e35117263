/** What is known of objects follows every change, whatever was missed. */
import { expect, test } from "vitest";
import type { KubeObject } from "./kube-objects.ts";
import { Copy } from "./kube-watch.ts";

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
