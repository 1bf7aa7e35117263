/** Lists of plain fields are not answered by the executor. The answer is the same, byte for byte. */

import { parse } from "graphql";
import { expect, test } from "vitest";
import { ask } from "../../../tests/graphql.ts";
import { type GivenPod, podDoc } from "../../../tests/pod-doc.ts";
import { setup, type World } from "../../../tests/world.ts";
import { graphSchema, schemaFor } from "./schema.ts";

const isPlain = (query: string) => schemaFor(parse(query)) !== graphSchema;

async function withPods(...given: GivenPod[]): Promise<World> {
  const world = await setup({ rateLimits: "off" });
  for (const [i, one] of given.entries()) {
    const id = `pod${String(i).padStart(11, "0")}`;
    const doc = podDoc({ name: `p${i}`, ...one });
    await world.services.podRecords.pods.insert({ id, account: world.owner.account, createdAt: i, doc });
  }
  return world;
}

const running: GivenPod = { status: "RUNNING", startedAt: 0, ports: ["8888/http", "22/tcp"], env: { A: "1", B: "2" } };

/** The same selection, answered by the executor: whether a directive holds is decided while it runs. */
const byExecutor = (query: string) => query.replace("pods { ", "pods { id @skip(if: true) ");

const PLAIN = [
  "{ myself { pods { id name } } }",
  "{ myself { id pods { __typename id env machine { gpuDisplayName podHostId } } email } }",
  "{ me: myself { mine: pods { key: id runtime { ports { ip privatePort type } gpus { id } } } } }",
  "{ myself { pods { ...one ... on Pod { costPerHr } } } } fragment one on Pod { id createdAt registry { url } }",
  "query a { ...mine } fragment mine on Query { myself { pods { id } } }",
  "query a($x: Boolean = false) { myself { pods { id } clientBalance @include(if: $x) } }",
  "{ myself { pods { toJSON: id constructor: name toString: id } } }",
];

test.each(PLAIN)("%s", async (query) => {
  expect([isPlain(query), isPlain(byExecutor(query))]).toEqual([true, false]);
  await using world = await withPods(running, {}, { ...running, mounts: { persistent: { size: 5, path: "/data" } } });
  const { status, json, text } = await ask(world, query);
  expect([status, json.errors, text]).toEqual([200, undefined, (await ask(world, byExecutor(query))).text]);
  expect(text).toContain("pod00000000001");
});

const NOT_PLAIN = [
  ["a field that is computed", "{ myself { pods { id networkVolume { id } } } }"],
  ["a directive", "query ($x: Boolean = true) { myself { pods { id @include(if: $x) } } }"],
  ["fields of one name, which are merged", "{ myself { pods { id machine { id } machine { podHostId } } } }"],
  ["a name that objects know", "{ myself { pods { __proto__: id } } }"],
  ["the schema beside it, which has no second form", "{ __schema { queryType { name } } myself { pods { id } } }"],
  ["no list", "{ myself { id } }"],
  ["a change", 'mutation { podStop(input: { podId: "a" }) { id } }'],
] as const;

test.each(NOT_PLAIN)("the executor answers %s", (_what, query) => expect(isPlain(query)).toBe(false));

test("lists of one name in two places are merged", async () => {
  await using world = await withPods({}, {});
  const { json } = await ask(world, "{ myself { pods { id } } myself { pods { name } } }");
  expect(json.data.myself.pods).toEqual([
    { id: "pod00000000001", name: "p1" },
    { id: "pod00000000000", name: "p0" },
  ]);
});

test("a value that does not fit its type is the error of its field alone", async () => {
  await using world = await withPods({}, { cluster: { id: "c", rank: 1.5, members: 1, gpusEach: 1, role: null } });
  const query = "{ myself { pods { id clusterIdx } } }";
  expect(isPlain(query)).toBe(true);
  const { status, json } = await ask(world, query);
  expect(status).toBe(200);
  expect(json.data.myself.pods.map((pod: { id: string }) => pod.id)).toEqual(["pod00000000001", "pod00000000000"]);
  expect(json.errors.map(({ path }: { path: string[] }) => path)).toEqual([["myself", "pods", 0, "clusterIdx"]]);
});

test("a refusal is the same, and names the list", async () => {
  await using world = await withPods({});
  const key = await world.newKey({ scopes: ["secrets:read"] });
  const query = "{ myself { pods { id } } }";
  const [plain, executed] = [await ask(world, query, { key }), await ask(world, byExecutor(query), { key })];
  expect(plain.json.errors[0].path).toEqual(["myself", "pods"]);
  expect(plain.json.errors[0].message).toBe(executed.json.errors[0].message);
  expect(plain.json.data).toEqual({ myself: { pods: null } });
});
