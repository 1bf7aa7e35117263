/** Documents are parsed once when they are sent again, and accept words written bare or quoted. */
import { describe, expect, test } from "vitest";
import { ask, dataOf } from "../../../tests/graphql.ts";
import { giveVolumesAPlace } from "../../../tests/volume-doc.ts";
import { setup } from "../../../tests/world.ts";
import { Documents, InvalidDocument } from "./documents.ts";
import { graphSchema } from "./schema.ts";

const documents = () => new Documents(graphSchema, { introspection: false });

describe("what is remembered", () => {
  test("is a query, so that it is read once", () => {
    const known = documents();
    const query = "{ gpuTypes { id } }";
    expect(known.prepare(query)).toBe(known.prepare(query));
  });

  test("is no change, which may hold a secret, and nothing long", () => {
    const known = documents();
    const change = 'mutation { secretCreate(input: {name: "n", value: "correct horse"}) { id } }';
    expect(known.prepare(change)).not.toBe(known.prepare(change));
    const long = `{ gpuTypes(input: {id: "${"x".repeat(20_000)}"}) { id } }`;
    expect(known.prepare(long)).not.toBe(known.prepare(long));
  });

  test("is bounded: what was asked longest ago goes first", () => {
    const known = documents();
    const query = (i: number) => `query Q${i} { gpuTypes { id } }`;
    const [first, kept] = [known.prepare(query(0)), known.prepare(query(1))];
    for (let i = 2; i < 501; i++) {
      known.prepare(query(i));
      known.prepare(query(1));
    }
    expect(known.prepare(query(1))).toBe(kept);
    expect(known.prepare(query(0))).not.toBe(first);
  });

  test("is nothing that is not valid", () => {
    const known = documents();
    for (const _ of [1, 2]) expect(() => known.prepare("{ nonsense }")).toThrow(InvalidDocument);
  });
});

describe("literals", () => {
  const create = (type: string) =>
    `mutation { createNetworkVolume(input: {name: "n ${type.length}", size: 10, dataCenterId: "EU-RO-1", type: ${type}}) { type } }`;

  test.each([["STANDARD"], ['"STANDARD"'], ['""'], ["null"]])(
    "a word may stand bare, quoted, empty or null: %s",
    async (type) => {
      await using world = await setup();
      giveVolumesAPlace(world);
      expect((await dataOf(world, create(type))).createNetworkVolume).toEqual({ type: "STANDARD" });
    },
  );

  test("texts keep quotes, line breaks and JSON within", async () => {
    await using world = await setup();
    const said = JSON.stringify(JSON.stringify({ cmd: ["a\nb", 'say "hi"'], entrypoint: ["/bin/sh", "-c"] }));
    const query = `mutation { secretCreate(input: {name: "s", value: "v", description: ${said}}) { description } }`;
    expect((await dataOf(world, query)).secretCreate.description).toBe(JSON.parse(said));
  });

  test("a space before a colon, and commas between fields", async () => {
    await using world = await setup();
    const query = '{ gpuTypes(input : {id : "NVIDIA L4", }) { id, displayName, } }';
    expect((await dataOf(world, query)).gpuTypes).toEqual([{ id: "NVIDIA L4", displayName: "L4" }]);
  });

  test("a number where a text belongs is 400, as is a fraction where a whole number belongs", async () => {
    await using world = await setup();
    const query = "mutation ($size: Int) { createNetworkVolume(input: {size: $size}) { id } }";
    const { status, json } = await ask(world, query, { variables: { size: 1.5 } });
    expect([status, json.errors[0].extensions.code]).toEqual([400, "GRAPHQL_VALIDATION_FAILED"]);
    expect((await ask(world, "{ gpuTypes(input: {id: 1}) { id } }")).status).toBe(400);
  });
});
