/** Who may set which field, and what a key narrowed to endpoints may do, checked for each operation. */
import { describe, expect, test } from "vitest";
import { setup, type World } from "../../tests/world.ts";
import { operations } from "../contract.ts";
import type { Operation } from "../kernel/operation.ts";
import { fieldsOf, rightOf, rights } from "../kernel/rights.ts";
import type { Grant } from "../kernel/scope.ts";
import { restV1Operations } from "../surfaces/rest-v1/operations.ts";

const API_KEYS = "/v2/account/api-keys";
const SECRETS = "/v2/account/secrets";
const ENDPOINTS = "/v2/serverless";
const CPU = { name: "echo", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
const all = Object.entries(operations as Record<string, Operation>);
const old = Object.entries(restV1Operations as Record<string, Operation>).map(
  ([name, operation]) => [`v1 ${name}`, operation] as const,
);

describe("an exempt key", () => {
  const body = { scopes: ["secrets:read"], exempt: true };
  const make = async (world: World, key?: string) => {
    const { status, json } = await world.call("POST", API_KEYS, { body, ...(key && { key }) });
    return [status, json.detail];
  };
  const refused = [
    403,
    "'exempt' can be set only by the installation's owner, with a key of the first account that holds 'all'.",
  ];

  test("is made by the installation's owner", async () => {
    await using world = await setup();
    expect((await make(world))[0]).toBe(201);
  });

  test("is not made by another account, however much its key may do there", async () => {
    await using world = await setup();
    const of = await world.services.accounts.create("stranger", "s@localhost");
    expect(await make(world, await world.newKey({ of }))).toEqual(refused);
    expect(await make(world, await world.newKey({ of, exempt: true }))).toEqual(refused);
  });

  test("is not made by a lesser key of the first account, be it exempt itself", async () => {
    await using world = await setup();
    const scopes: Grant[] = ["api-keys:write", "secrets:read"];
    expect(await make(world, await world.newKey({ scopes }))).toEqual(refused);
    expect(await make(world, await world.newKey({ scopes, exempt: true }))).toEqual(refused);
    expect(await make(world, await world.newKey({ endpoints: ["one"] }))).toEqual(refused);
  });

  test("is what nobody else asks for who says so", async () => {
    await using world = await setup();
    const key = await world.strangersKey();
    const { status } = await world.call("POST", API_KEYS, { key, body: { ...body, exempt: false } });
    expect(status).toBe(201);
  });
});

describe("fields", () => {
  test("that not everybody may set say so by a word of the table", () => {
    const marks = all.flatMap(([, operation]) =>
      Object.entries(fieldsOf(operation.in)).map(([, field]) => rightOf(field)),
    );
    expect(marks.filter((mark) => !(mark in rights))).toEqual([]);
    expect(new Set(marks)).toEqual(new Set(Object.keys(rights)));
  });

  const reserved = all.flatMap(([name, operation]) =>
    Object.entries(fieldsOf(operation.in))
      .filter(([, field]) => rightOf(field) === "installation")
      .map(([field]) => [name, field] as const),
  );

  test("that are the installation's owner's alone are these", () =>
    expect(reserved).toEqual([
      ["createApiKey", "exempt"],
      ["createInstallationAccountKey", "exempt"],
    ]));
});

describe("a key narrowed to endpoints", () => {
  const path = ({ path }: Operation, endpoint: string) =>
    path
      .replace("/v2/serverless/{id}", `/v2/serverless/${endpoint}`)
      .replace("{endpointId}", endpoint)
      .replace(/\{\w*id\}/i, "aaaaaaaaaaaaaa");

  const known = [...all, ...old].filter(([, { who }]) => who !== "anybody");

  test.each(known)("%s: may do with it what the operation says", async (_name, operation) => {
    await using world = await setup();
    const { id } = (await world.call("POST", ENDPOINTS, { body: CPU })).json;
    const key = await world.newKey({ endpoints: [id] });
    // A stream does not end by itself. If it is allowed, HEAD gives the same status.
    const method = operation.events && operation.narrowed === "own" ? "HEAD" : operation.method;
    const { status, json } = await world.call(method, path(operation, id), { key });
    if (operation.narrowed === "own") expect(status).not.toBe(403);
    else
      expect([status, json.detail ?? json.message]).toEqual([
        403,
        "This API key is narrowed to some endpoints, and cannot read or change what belongs to the whole account.",
      ]);
  });

  test("rewrites no secret of the account", async () => {
    await using world = await setup();
    const { id } = (await world.call("POST", SECRETS, { body: { name: "token", value: "mine" } })).json;
    const key = await world.newKey({ endpoints: ["one"] });
    expect((await world.call("PATCH", `${SECRETS}/${id}`, { key, body: { value: "theirs" } })).status).toBe(403);
    expect((await world.call("DELETE", `${SECRETS}/${id}`, { key })).status).toBe(403);
    expect(await world.services.secrets.reveal(world.owner.account, "token")).toBe("mine");
  });

  test("gives its endpoint no secret that it did not have", async () => {
    await using world = await setup();
    const env = { A: "{{ MILLRACE_SECRET_mine }}" };
    const { id } = (await world.call("POST", ENDPOINTS, { body: { ...CPU, env } })).json;
    const key = await world.newKey({ endpoints: [id] });
    const change = (env: Record<string, string>) => world.call("PATCH", `${ENDPOINTS}/${id}`, { key, body: { env } });
    expect((await change({ B: "{{ RUNPOD_SECRET_mine }}", C: "plain" })).status).toBe(200);
    const { status, json } = await change({ A: "{{ MILLRACE_SECRET_theirs }}" });
    expect([status, json.detail]).toEqual([
      403,
      "This API key is narrowed to some endpoints, and cannot give them a secret that they do not have: 'theirs'.",
    ]);
  });
});
