/** A state comes from its lifecycle: the types refuse a state written by hand, and this rule refuses one that is cast. */
import { expect, test } from "vitest";
import { forgedStates } from "../../tests/repository-rules.ts";
import { readSourceTree, sourceFile } from "../../tests/source-tree.ts";

test("no file casts a state", () => {
  expect(forgedStates(readSourceTree())).toEqual([]);
});

test("a state that is cast instead of moved is found, but not in the one place, and not in a test", () => {
  const sample = {
    "platform/src/kernel/lifecycle.ts": "return to as Moved<State>;",
    "platform/src/resources/pods/service.ts": 'const status = "RUNNING" as Moved<PodStatus>;',
    "platform/src/resources/workers/records.ts": 'set({ state: word as unknown as KeptWorker["state"] });',
    "platform/src/resources/pods/pods.test.ts": 'const status = "RUNNING" as Moved<PodStatus>;',
    "platform/src/resources/workers/standing.ts": "STATUS[item.doc.state as WorkerState];",
  };
  expect(forgedStates(Object.entries(sample).map(([path, text]) => sourceFile(path, text)))).toEqual([
    "platform/src/resources/pods/service.ts uses as Moved<",
    'platform/src/resources/workers/records.ts uses as unknown as KeptWorker["state"]',
  ]);
});
