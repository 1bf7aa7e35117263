/** A new resource with two fields and a lifecycle takes one short file, and gets everything that a resource has. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type KeptKite, kiteDialect, kiteLifecycle, kiteOperations, kiteResource } from "../../tests/kites.ts";
import { setup as setupWorld } from "../../tests/world.ts";
import { operations } from "../contract.ts";
import { flatConformance } from "../kernel/flat.conformance.ts";
import { openApiDocument } from "../surfaces/rest-v2/openapi.ts";

const KITES = "/v2/account/kites";
const RED = { name: "red", line: 40 };

const setup = async () => {
  const world = await setupWorld({ resources: (parts) => [kiteResource(parts)] });
  const made = await world.call("POST", KITES, { body: RED });
  return Object.assign(world, { made, path: `${KITES}/${made.json.id}` });
};

test("its file has fewer than 60 lines", () => {
  const text = readFileSync(new URL("../../tests/kites.ts", import.meta.url), "utf8");
  expect(text.trimEnd().split("\n").length).toBeLessThan(60);
});

describe("REST v2", () => {
  test("creates, gets, updates and deletes it", async () => {
    await using world = await setup();
    const kite = { id: expect.stringMatching(/^[a-z0-9]{14}$/), ...RED, status: "GROUNDED" };
    expect(world.made).toMatchObject({ status: 201, json: kite });
    expect((await world.call("GET", world.path)).json).toEqual(world.made.json);
    const patched = await world.call("PATCH", world.path, { body: { line: 90 } });
    expect([patched.status, patched.json]).toEqual([200, { ...world.made.json, line: 90 }]);
    expect((await world.call("DELETE", world.path)).status).toBe(204);
    const gone = await world.call("GET", world.path);
    expect([gone.status, gone.json.detail]).toEqual([404, "kite not found"]);
  });

  test("lists it in pages, the newest first", async () => {
    await using world = await setup();
    await world.clock.advance(1);
    await world.call("POST", KITES, { body: { name: "blue", line: 1 } });
    const first = (await world.call("GET", `${KITES}?limit=1`)).json;
    expect([first.kites[0].name, first.pagination.hasNextPage]).toEqual(["blue", true]);
    const second = (await world.call("GET", `${KITES}?limit=1&cursor=${first.pagination.nextCursor}`)).json;
    expect(second).toEqual({ kites: [world.made.json], pagination: { nextCursor: null, hasNextPage: false } });
  });

  test("holds what is sent to its fields", async () => {
    await using world = await setup();
    const refused = await world.call("POST", KITES, { body: { name: "", line: 501, status: "FLYING" } });
    expect([refused.status, refused.json.errors.sort()]).toEqual([
      422,
      ["$.line: must be <= 500", "$.name: must not be empty", "$: additional properties 'status' not allowed"],
    ]);
  });

  test("moves it as its lifecycle says, and refuses a move that does not start where it is", async () => {
    await using world = await setup();
    const act = (action: string) => world.call("POST", `${world.path}/action`, { body: { action } });
    expect((await act("launch")).json).toEqual({ ...world.made.json, status: "FLYING" });
    const refused = await act("launch");
    expect([refused.status, refused.json.detail]).toEqual([409, "cannot launch while FLYING"]);
    expect((await act("sink")).status).toBe(422);
    expect((await act("land")).json.status).toBe("GROUNDED");
  });
});

test("a key without its scope is refused, and one that reads does not write", async () => {
  await using world = await setup();
  const stranger = await world.newKey({ scopes: ["secrets:write"] });
  const reader = await world.newKey({ scopes: ["clusters:read"] });
  const refused = await world.call("GET", world.path, { key: stranger });
  expect([refused.status, refused.json.detail]).toEqual([403, "This API key lacks the scope 'clusters:read'."]);
  expect((await world.call("GET", world.path, { key: reader })).status).toBe(200);
  expect((await world.call("DELETE", world.path, { key: reader })).status).toBe(403);
});

test("to another account it is not there", async () => {
  await using world = await setup();
  const key = await world.strangersKey();
  const body = { action: "launch" };
  const asked = [
    await world.call("GET", world.path, { key }),
    await world.call("PATCH", world.path, { key, body: { line: 1 } }),
    await world.call("POST", `${world.path}/action`, { key, body }),
    await world.call("DELETE", world.path, { key }),
  ];
  expect(asked.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  expect((await world.call("GET", KITES, { key })).json.kites).toEqual([]);
  expect((await world.call("GET", world.path)).json).toEqual(world.made.json);
});

test("the OpenAPI document has its operations, with what each refuses, and its shapes", () => {
  const { paths, components } = openApiDocument({ ...operations, ...kiteOperations }) as {
    paths: Record<string, Record<string, { responses: object }>>;
    components: { schemas: object };
  };
  expect(Object.keys(paths[KITES]!)).toEqual(["get", "post"]);
  expect(Object.keys(paths[`${KITES}/{id}`]!)).toEqual(["get", "patch", "delete"]);
  expect(Object.keys(paths[`${KITES}/{id}/action`]!.post!.responses)).toEqual(
    expect.arrayContaining(["200", "400", "401", "403", "404", "409", "413", "415", "422", "429"]),
  );
  expect(Object.keys(components.schemas)).toEqual(
    expect.arrayContaining(["Kite", "CreateKiteRequest", "UpdateKiteRequest"]),
  );
});

flatConformance<KeptKite, { name: string; line: number }>("kites", {
  dialect: kiteDialect,
  whole: [{ ...RED, status: "FLYING" }],
  any: (random) => ({ name: `k${random.below(100)}`, line: 1 + random.below(500), status: "GROUNDED" }),
  made: (said) => ({ ...said, status: "GROUNDED" }),
});

test("the flat dialect calls its line by its unit", () => {
  expect(kiteDialect.of({ ...RED, status: "FLYING" })).toEqual({ name: "red", lineInM: 40 });
});

test("its lifecycle is a table", () => expect(kiteLifecycle.states).toEqual(["GROUNDED", "FLYING"]));
