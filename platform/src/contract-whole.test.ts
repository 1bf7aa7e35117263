/** The contract as a console uses it: complete, and bundled for a browser. */
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";
import { reachesNode, ungathered } from "../tests/repository-rules.ts";
import { readSourceTree, root, type SourceFile, sourceFile } from "../tests/source-tree.ts";
import { endpointCalls, lifecycles, models, operations, records } from "./contract.ts";
import type { Lifecycle } from "./kernel/lifecycle.ts";

const tree = (sample: Record<string, string>): SourceFile[] =>
  Object.entries(sample).map(([path, text]) => sourceFile(path, text));

test("no model and no lifecycle is missing from it", () => {
  expect(ungathered(readSourceTree())).toEqual([]);
});

test("a model and a lifecycle that the contract forgot, and what a browser does not have", () => {
  const sample = tree({
    "platform/src/contract.ts":
      'import { a, A } from "./resources/a/model.ts";\nexport const models = { a: A, };\nexport const lifecycles = { a: a, };',
    "platform/src/resources/a/model.ts":
      "export const a = lifecycle<S, M>({});\nexport const A = resource(name);\nconst bytes = Buffer.byteLength(text);",
    "platform/src/resources/b/lifecycle.ts": "export const b = lifecycle<S, M>({});",
    "platform/src/resources/b/model.ts": 'export const B = resource("B", {}); Buffer.from("b");',
  });
  expect(ungathered(sample)).toEqual([
    "contract.ts lacks b of platform/src/resources/b/lifecycle.ts",
    "contract.ts lacks B of platform/src/resources/b/model.ts",
  ]);
  expect(reachesNode(sample, "platform/src/contract.ts")).toEqual(["platform/src/resources/a/model.ts uses Buffer"]);
});

test("it is bundled for a browser, and runs where there is nothing but the language", async () => {
  await using build = await rolldown({
    input: join(root, "platform/src/contract.ts"),
    platform: "browser",
    checks: { bundlerTimings: false },
    onLog(level, { message }) {
      if (level === "warn") throw new Error(message);
    },
  });
  const { output } = await build.generate({ format: "iife", name: "contract" });
  expect(output.flatMap((part) => (part.type === "chunk" ? part.imports : []))).toEqual([]);
  const seen = `JSON.stringify({
    operations: Object.keys(contract.operations).length,
    fields: Object.keys(contract.models.pods.create.properties),
    actions: contract.lifecycles.pods.actions("RUNNING"),
    states: contract.lifecycles.jobs.states,
  })`;
  const { fields, ...rest } = JSON.parse(runInNewContext(`${output[0].code};${seen}`, {}));
  expect(fields).toContain("image");
  expect(rest).toEqual({
    operations: Object.keys(operations).length,
    actions: ["stop", "restart", "terminate"],
    states: lifecycles.jobs.states,
  });
});

const lives = Object.entries(lifecycles) as unknown as [string, Lifecycle<string, string>][];

test.each(lives)("the life of %s is whole: every state is reached from where it begins", (_, life) => {
  const reached = new Set(life.begins);
  for (const state of reached)
    for (const { from, to } of Object.values(life.moves)) if (from.includes(state)) reached.add(to);
  expect([...reached].sort()).toEqual([...life.states].sort());
});

/** Records that clients read, with the allowed `actions`. */
const acting = {
  pods: models.pods.record,
  clusters: models.clusters.record,
  batches: records.batches,
};

test.each(Object.entries(acting))("`actions` of %s are the moves that a caller may ask for", (name, { properties }) => {
  const { items } = properties.actions as unknown as { items: { enum: string[] } };
  const life = lifecycles[name as keyof typeof acting];
  expect(items.enum.toSorted()).toEqual([...life.asked].toSorted());
});

/** The operation with which a caller asks for each move. */
const askedBy: Record<string, { scope?: string }> = {
  ...{ "pods start": operations.podAction, "pods stop": operations.podAction },
  ...{ "pods restart": operations.podAction, "pods terminate": operations.podAction },
  ...{ "jobs cancel": endpointCalls.cancelJob, "jobs retry": endpointCalls.retryJob },
  ...{ "batches finalize": endpointCalls.finalizeBatch, "batches cancel": endpointCalls.cancelBatch },
  "clusters delete": operations.deleteCluster,
  "hubTests run": operations.testHubDeployment,
};

test("a move that a caller may ask for needs the scope of the operation that asks for it", () => {
  const asked = lives.flatMap(([name, life]) =>
    life.asked.map((move) => [`${name} ${move}`, life.moves[move]!.asked] as const),
  );
  const scopes = Object.entries(askedBy).map(([move, { scope }]) => [move, scope]);
  expect(asked.toSorted()).toEqual(scopes.toSorted());
});
