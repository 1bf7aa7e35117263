/** Limits on documents: real clients' documents pass, and documents that would keep the server busy are refused before execution. */
import { describe, expect, test, vi } from "vitest";
import { setupFleet } from "../../../tests/fleet-world.ts";
import { ask, dataOf, errorOf } from "../../../tests/graphql.ts";
import { podDoc } from "../../../tests/pod-doc.ts";
import { setup } from "../../../tests/world.ts";
import { gpuTypeIds } from "../../catalog/compute.ts";
import { CatalogService } from "../../resources/catalog/service.ts";
import { LONGEST_QUERY } from "./documents.ts";

const many = (count: number, one: (i: number) => string) => Array.from({ length: count }, (_, i) => one(i)).join(" ");

const PRICES = "minimumBidPrice uninterruptablePrice minVcpu minMemory stockStatus compliance countryCode";
const offers = (i: number) =>
  `dc${i}: gpuTypes(input: {ids: ["NVIDIA L4"]}) { id lowestPrice(input: {gpuCount: 1, dataCenterId: "EU-RO-1", secureCloud: true}) { ${PRICES} } }`;

describe("passes", () => {
  test.each([
    ["a hundred aliases, each with prices of its own", `{ ${many(100, offers)} }`],
    ["fragments within fragments", "{ ...A } fragment A on Query { gpuTypes { ...B } } fragment B on GpuType { id }"],
    ["a text of 200 KB", `{ gpuTypes(input: {id: "${"x".repeat(200 * 1024)}"}) { id } }`],
    [
      "the same field from several fragments",
      "{ ...A ...B } fragment A on Query { countryCodes } fragment B on Query { countryCodes }",
    ],
    ["names of types", "{ __typename gpuTypes { __typename id } }"],
  ])("%s", async (_what, query) => {
    await using world = await setup();
    const { status, json } = await ask(world, query);
    expect([status, json.errors]).toEqual([200, undefined]);
  });
});

const deep = (levels: number) =>
  `{ ${"gpuTypes { nodeGroupDatacenters { gpuAvailability { gpuType { ".repeat(levels)} id ${"}".repeat(levels * 4)} }`;

const refused: [what: string, query: string, why: RegExp][] = [
  ["ten thousand aliases", `{ ${many(10_000, (i) => `a${i}: __typename`)} }`, /Token limit of \d+ exceeded/],
  ["a thousand aliases", `{ ${many(1000, (i) => `a${i}: __typename`)} }`, /Aliases limit of \d+ exceeded/],
  ["a text that no database keeps", '{ podTemplate(id: "a\\u0000") { id } }', /must not contain the character U\+0000/],
  ["one field ten times", `{ ${"countryCodes ".repeat(10)} }`, /'countryCodes' is asked for more than 5 times/],
  ["the same within fragments without a name", `{ ${"... { countryCodes } ".repeat(10)} }`, /more than 5 times/],
  ["types within types", deep(4), /depth limit of \d+ exceeded/],
  ["more levels than can be gone down", `{ ${"gpuTypes { ".repeat(2900)}`, /nested too deeply|Syntax Error/],
  ["lists within lists", `{ gpuTypes(input: {ids: ${"[".repeat(5000)}`, /nested too deeply|Syntax Error/],
  [
    "a fragment that contains itself",
    "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }",
    /Cannot spread fragment "A" within itself/,
  ],
  [
    "fragments that double each other",
    `{ ...F0 } ${many(40, (i) => `fragment F${i} on Query { ...F${i + 1} ...F${i + 1} }`)} fragment F40 on Query { __typename }`,
    /Cost limit of \d+ exceeded/,
  ],
  [
    "a hundred fragments",
    `{ ...F0 } ${many(100, (i) => `fragment F${i} on Query { __typename }`)}`,
    /At most 50 operations and fragments/,
  ],
  ["a list of 100,000", `{ gpuTypes(input: {ids: [${"1,".repeat(100_000)}]}) { id } }`, /Token limit of \d+ exceeded/],
  ["a megabyte of text", `{ gpuTypes(input: {id: "${"x".repeat(1_000_000)}"}) { id } }`, /at most 262144 are read/],
  ["a longer comment", `# ${"x".repeat(LONGEST_QUERY)}\n{ countryCodes }`, /at most 262144 are read/],
  [
    "five hundred directives",
    `{ countryCodes ${"@include(if: true) ".repeat(500)} }`,
    /Directives limit of \d+ exceeded/,
  ],
  ["the schema", "{ __schema { types { name } } }", /GraphQL introspection has been disabled|introspection/i],
];

describe("is refused with 400 and the limit", () => {
  test.each(refused)("%s", async (_what, query, why) => {
    await using world = await setup();
    const { status, json } = await ask(world, query, { key: null });
    expect(status).toBe(400);
    expect(json.errors[0].message).toMatch(why);
    expect(json.errors[0].extensions).toEqual({ code: "GRAPHQL_VALIDATION_FAILED" });
  });
});

test("a body of more than a megabyte is refused by its length", async () => {
  await using world = await setup();
  const { status, json } = await ask(world, `{ a(b: "${"x".repeat(1_100_000)}") }`);
  expect([status, json.errors[0].message]).toEqual([413, expect.stringContaining("larger than the limit of 1 MB")]);
});

test("no more than twenty mistakes are listed", async () => {
  await using world = await setup();
  const { json } = await ask(world, `{ ${many(500, (i) => `f${i}`)} }`);
  expect(json.errors.length).toBeLessThanOrEqual(21);
});

describe("the cost of a document", () => {
  const lowest = (i: number) => `lowestPrice(input: {gpuCount: ${i}}) { stockStatus }`;
  const costOf = async (query: string, variables: object = {}) => {
    await using world = await setup();
    const padding = many(150, (i) => `z${i}: gpuTypes { id lowestPrice { stockStatus } }`);
    const refused = await ask(world, query.replace("PADDING", padding), { key: null, variables });
    return [refused.status, Number(/would cost (\d+)/.exec(refused.json.errors?.[0].message ?? "")?.[1] ?? 0)] as const;
  };

  test("counts every alias, so that prices of everything many times over are refused before any is reckoned", async () => {
    await using world = await setup();
    using counts = vi.spyOn(CatalogService.prototype, "offer");
    const inEach = `{ ${many(240, (i) => `a${i}: gpuTypes { ${lowest(i + 1)} }`)} }`;
    const inOne = `{ gpuTypes { ${many(240, (i) => `a${i}: ${lowest(i + 1)}`)} } }`;
    const inFragments = `{ gpuTypes { ...A } } fragment A on GpuType { ${many(240, (i) => `a${i}: ${lowest(i + 1)}`)} }`;
    for (const query of [inEach, inOne, inFragments]) {
      const { status, json } = await ask(world, query, { key: null });
      expect([status, json.errors[0].message]).toEqual([400, expect.stringContaining("at most 20000")]);
    }
    expect(counts).toHaveBeenCalledTimes(0);
    expect((await ask(world, `{ gpuTypes { ${lowest(1)} } }`, { key: null })).status).toBe(200);
    expect(counts).toHaveBeenCalledTimes(gpuTypeIds().length);
  });

  test("counts a list by what it is narrowed to, in the document and by variables", async () => {
    const [, all] = await costOf("{ gpuTypes { id } PADDING }");
    const [, one] = await costOf('{ gpuTypes(input: {id: "NVIDIA L4"}) { id } PADDING }');
    const [, two] = await costOf("query ($ids: [String]) { gpuTypes(input: {ids: $ids}) { id } PADDING }", {
      ids: ["NVIDIA L4", "NVIDIA A40"],
    });
    const [, unsaid] = await costOf(
      'query ($f: GpuTypeFilter = {id: "NVIDIA L4"}) { gpuTypes(input: $f) { id } PADDING }',
    );
    expect([all - one, two - one, unsaid]).toEqual([2 * (gpuTypeIds().length - 1), 2, one]);
  });

  test("is that of the operation that is meant", async () => {
    await using world = await setup();
    const dear = `query dear { ${many(240, (i) => `a${i}: gpuTypes { ${lowest(i + 1)} }`)} }`;
    const query = `${dear} query cheap { countryCodes }`;
    const asked = (operationName: string) => ask(world, query, { key: null, more: { operationName } });
    expect([(await asked("cheap")).status, (await asked("dear")).status]).toEqual([200, 400]);
  });

  test("is looked at again where a document is remembered and another caller asks, or with other variables", async () => {
    await using world = await setup();
    const query = `query ($f: GpuTypeFilter) { ${many(60, (i) => `a${i}: gpuTypes(input: $f) { ${lowest(i + 1)} }`)} }`;
    const f = { ids: ["NVIDIA L4"] };
    const statuses = [];
    for (const [variables, key] of [
      [{ f }, null],
      [{}, null],
      [{}, world.key],
      [{ f }, null],
    ] as const)
      statuses.push((await ask(world, query, { key, variables })).status);
    expect(statuses).toEqual([200, 400, 200, 200]);
  });
});

test("what is asked for twice within a second is counted once, for everybody", async () => {
  await using world = await setup();
  using counts = vi.spyOn(CatalogService.prototype, "offer");
  const prices = () => dataOf(world, '{ gpuTypes(input: {id: "NVIDIA L4"}) { lowestPrice { stockStatus } } }');
  for (let i = 0; i < 5; i++) await prices();
  expect(counts).toHaveBeenCalledTimes(1);
  await world.clock.advance(1000);
  await prices();
  expect(counts).toHaveBeenCalledTimes(2);
});

test("a name that is longer than any is refused before it is compared with anything", async () => {
  await using world = await setup();
  const query = "query ($c: String) { gpuTypes { lowestPrice(input: {countryCode: $c}) { stockStatus } } }";
  const { message } = await errorOf(world, query, { variables: { c: "x".repeat(500_000) } });
  expect(message).toContain("'countryCode' takes up to 50 names of up to 100 characters");
});

test("pools of serverless GPUs are read with a key", async () => {
  await using world = await setup();
  const query = "{ serverlessGpuPools { id } }";
  expect((await dataOf(world, query)).serverlessGpuPools.length).toBeGreaterThan(0);
  expect(await errorOf(world, query, { key: null })).toMatchObject({
    message: expect.stringContaining("Unauthorized"),
  });
});

describe("introspection", () => {
  test.each([
    ["{ gpuType { id } }", {}],
    ["{ gpuTypes { idd } }", {}],
    ["{ gpuTypes(inputs: {}) { id } }", {}],
    ["{ gpuTypes(input: {idss: 1}) { id } }", {}],
    ["query ($f: GpuTypeFiltr) { gpuTypes(input: $f) { id } }", {}],
    ["query ($f: GpuTypeFilter) { gpuTypes(input: $f) { id } }", { f: { idss: [] } }],
  ])("that is off suggests no names either: %s", async (query, variables) => {
    for (const [setting, hint] of [
      ["off", false],
      ["on", true],
    ] as const) {
      await using world = await setup({ graphqlIntrospection: setting });
      const { status, text } = await ask(world, query, { variables });
      expect([status, text.includes("Did you mean")]).toEqual([400, hint]);
    }
  });

  test("is a setting", async () => {
    await using world = await setup({ graphqlIntrospection: "on" });
    const { status, json } = await ask(
      world,
      '{ __schema { queryType { name } } __type(name: "GpuType") { fields { name } } }',
    );
    expect([status, json.data.__schema]).toEqual([200, { queryType: { name: "Query" } }]);
  });

  test("goes round in no circles either", async () => {
    await using world = await setup({ graphqlIntrospection: "on" });
    const { status } = await ask(
      world,
      `{ __schema { types { ${"fields { type { ".repeat(8)} name ${"} }".repeat(8)} } } }`,
    );
    expect(status).toBe(400);
  });
});

describe("an answer", () => {
  /** A machine with virtual GPUs of every type in every data center, like that of someone who has no GPU. */
  async function withEverything() {
    const gpus = gpuTypeIds().map((type) => ({ type, count: 8, virtual: true }));
    const box = { id: "machine", vcpu: 64, memoryMb: 1024 * 1024, diskGb: 1000, gpus, ceilings: true };
    const world = await setupFleet({ machine: { capacity: [box] } });
    await world.pass(1);
    return world;
  }

  const within = (inner: string) => `{ dataCenters { gpuAvailability { gpuType { ${inner} } } } }`;

  test("has lists within lists so deep as clients ask for, and no deeper", async () => {
    await using world = await withEverything();
    const lists = within("nodeGroupDatacenters { gpuAvailability { id } }");
    const { status, json } = await ask(world, lists, { key: null });
    expect([status, json.errors[0].message]).toEqual([400, "Lists within lists: at most 3 are answered, not 4."]);
    const named = `{ dataCenters { gpuAvailability { gpuType { ...A } } } }
      fragment A on GpuType { nodeGroupDatacenters { ...B } } fragment B on DataCenter { gpuAvailability { id } }`;
    expect((await ask(world, named)).status).toBe(400);
    const one = '{ gpuTypes(input: {id: "NVIDIA L4"}) { nodeGroupDatacenters { gpuAvailability { id } } } }';
    expect((await ask(world, one)).status).toBe(200);
  });

  test("that would be longer than any client reads is not begun, and the refusal says what it would cost", async () => {
    await using world = await withEverything();
    const query = within("nodeGroupDatacenters { id name location }");
    for (const [key, most] of [
      [world.key, 150_000],
      [null, 20_000],
    ] as const) {
      const { status, json } = await ask(world, query, { key });
      expect([status, json.data, json.errors.length]).toEqual([400, undefined, 1]);
      expect(json.errors[0].message).toMatch(
        new RegExp(`^The query would cost \\d{6,}, and at most ${most} is answered`),
      );
      expect(json.errors[0].extensions).toEqual({ code: "GRAPHQL_VALIDATION_FAILED" });
    }
  });

  test("from an account that has more than could be reckoned is cut off, once, with 400", async () => {
    await using world = await setup({ rateLimits: "off" });
    for (let i = 0; i < 600; i++)
      await world.services.podRecords.pods.insert({
        ...{ id: `pod${String(i).padStart(11, "0")}`, account: world.owner.account, createdAt: i, doc: podDoc({}) },
      });
    const query = `{ myself { ${many(60, (i) => `a${i}: pods { id name env ports }`)} } }`;
    const { status, json } = await ask(world, query);
    expect([status, json.data, json.errors.length]).toEqual([400, null, 1]);
    expect(json.errors[0].message).toContain("more than 150000 fields");
    expect(json.errors[0].extensions).toEqual({ code: "RUNPOD", meaning: "too-much", reasonCode: "too-much" });
  });
});
