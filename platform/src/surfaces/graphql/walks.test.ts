/** Calls every GraphQL operation with missing scopes, Pod keys, narrowed keys, no key, other accounts, and an unavailable store. */
import { describe, expect, test } from "vitest";
import { putCluster } from "../../../tests/cluster-doc.ts";
import { documentFor, operationNames } from "../../../tests/graph-documents.ts";
import { ask } from "../../../tests/graphql.ts";
import { putPod } from "../../../tests/pod-doc.ts";
import { giveVolumesAPlace, putVolume } from "../../../tests/volume-doc.ts";
import { InterceptedStore, setup, type World } from "../../../tests/world.ts";
import { scopesOf } from "../../kernel/operation.ts";
import { problem } from "../../kernel/problem.ts";
import { grants } from "../../kernel/scope.ts";
import { graphOperations } from "./schema.ts";

const UNKNOWN = "zzzzzzzzzzzzzz";
const operationOf = (name: string) => graphOperations[name]!;
const isOpen = (name: string) => /^(catalog|templates):read$/.test(operationOf(name).scope!);
const isCatalog = (name: string) => operationOf(name).scope === "catalog:read";

async function send(world: World, name: string, { key, id }: { key?: string | null; id?: string } = {}) {
  const { query, variables } = documentFor(name, id);
  const { status, json, text } = await ask(world, query, { ...(key !== undefined && { key }), variables });
  // The account's rules are read before the operation. If that fails, the whole request is refused.
  if (status !== 200 && status !== 503) throw new Error(`${name} was answered with ${status}: ${text}\n${query}`);
  return { error: json.errors?.[0], data: json.data, text };
}

test("there are operations to walk", () => expect(operationNames.length).toBeGreaterThan(30));

describe("scopes", () => {
  test("a key with every scope but that of an operation is refused, and told which it lacks", async () => {
    await using world = await setup({ rateLimits: "off" });
    for (const name of operationNames) {
      const { scope } = operationOf(name);
      const resource = scope!.split(":")[0]!;
      const scopes = grants.filter((grant) => grant.includes(":") && !grant.startsWith(`${resource}:`));
      const { error } = await send(world, name, { key: await world.newKey({ scopes }) });
      expect([name, error?.message]).toEqual([name, `Unauthorized: This API key lacks the scope '${scope}'.`]);
      expect(error.extensions).toMatchObject({ code: "RUNPOD", scope });
    }
  });

  test("a key with its scopes and no others is allowed", async () => {
    await using world = await setup({ rateLimits: "off" });
    giveVolumesAPlace(world);
    for (const name of operationNames) {
      const { error } = await send(world, name, { key: await world.newKey({ scopes: scopesOf(operationOf(name)) }) });
      expect([name, error?.message ?? ""]).toEqual([name, expect.not.stringContaining("Unauthorized")]);
    }
  });

  test("a read-only key may read, and change nothing", async () => {
    await using world = await setup({ rateLimits: "off" });
    const key = await world.newKey({ scopes: ["read-only"] });
    for (const name of operationNames) {
      const { error } = await send(world, name, { key });
      const isRefused = /^Unauthorized/.test(error?.message ?? "");
      expect([name, isRefused]).toEqual([name, name.startsWith("Mutation.")]);
    }
  });

  test("what changes something is no GET, so that the audit log tells of it", () => {
    for (const name of operationNames)
      expect([name, operationOf(name).method === "GET"]).toEqual([name, !name.startsWith("Mutation.")]);
  });
});

describe("keys of little right", () => {
  test("nobody without a key changes or reads anything of an account", async () => {
    await using world = await setup({ rateLimits: "off" });
    for (const name of operationNames.filter((name) => !isOpen(name) && !name.startsWith("User."))) {
      const { error } = await send(world, name, { key: null });
      expect([name, error?.message]).toEqual([name, "Unauthorized: this takes an API key"]);
    }
  });

  test("a key that is narrowed to endpoints does what its operations say", async () => {
    await using world = await setup({ rateLimits: "off" });
    const key = await world.newKey({ scopes: ["all"], endpoints: ["one"] });
    for (const name of operationNames.filter((name) => operationOf(name).narrowed === "refused")) {
      const { error } = await send(world, name, { key });
      expect([name, error?.message]).toEqual([name, expect.stringContaining("narrowed to some endpoints")]);
    }
  });

  test("a Pod's own key reads and ends its Pod, and nothing else: not even whose it is", async () => {
    await using world = await setup({ rateLimits: "off" });
    const pod = await putPod(world);
    const { key } = await world.services.podKeys.issue(world.owner.account, pod);
    for (const name of operationNames.filter((name) => !operationOf(name).byPod)) {
      const { error } = await send(world, name, { key, id: pod });
      expect([name, error?.message]).toEqual([name, expect.stringContaining("Unauthorized")]);
    }
    expect((await ask(world, "{ myself { id } }", { key })).json.errors[0].message).toMatch(/^Unauthorized/);
    expect((await send(world, "Query.pod", { key, id: pod })).data.pod).not.toBeNull();
    expect((await send(world, "Mutation.podTerminate", { key, id: pod })).error).toBeUndefined();
  });
});

describe("tenancy", () => {
  async function withThings() {
    const world = await setup({ rateLimits: "off" });
    giveVolumesAPlace(world);
    const make = async (path: string, body: object) => (await world.call("POST", path, { body })).json.id as string;
    const cpu = [{ id: "cpu3c", vcpuCount: 2 }];
    const ids: Record<string, string> = {
      secrets: await make("/v2/account/secrets", { name: "token", value: "v" }),
      registries: await make("/v2/registries", { name: "mine", username: "u", password: "p" }),
      "network-volumes": await putVolume(world, "mine"),
      pods: await putPod(world, { name: "mine" }),
      clusters: await putCluster(world, "mine"),
      templates: await make("/v2/templates", { name: "mine", image: "busybox" }),
      serverless: await make("/v2/serverless", { name: "mine", image: "busybox", cpu }),
    };
    return { world, ids };
  }

  test("what another account has is there for nobody else, in the words of what is not there", async () => {
    const { world, ids } = await withThings();
    await using _ = world;
    // Both accounts have nothing. One asks for another account's things, the other for ids that do not exist: they must get the same
    // answers.
    const key = await world.strangersKey();
    const other = await world.newKey({ of: await world.services.accounts.create("other", "s@localhost") });
    const paths = Object.keys(ids).map((word) => (word === "secrets" ? "/v2/account/secrets" : `/v2/${word}`));
    const inventory = () => Promise.all(paths.map(async (path) => (await world.call("GET", path)).text));
    const before = await inventory();
    for (const name of operationNames.filter((one) => !isCatalog(one))) {
      const id = ids[operationOf(name).scope!.split(":")[0]!] ?? UNKNOWN;
      const foreign = await send(world, name, { key, id });
      const unknown = await send(world, name, { key: other, id: UNKNOWN });
      expect([name, foreign.text.replaceAll(id, "ID")]).toEqual([name, unknown.text.replaceAll(UNKNOWN, "ID")]);
      expect(foreign.text).not.toContain("mine");
    }
    expect(await inventory()).toEqual(before);
  });
});

test("while nothing can be read nobody says that something is not there", async () => {
  const store = new InterceptedStore();
  await using world = await setup({ store, rateLimits: "off" });
  await ask(world, "{ myself { id } }");
  await world.clock.advance(2000);
  const fail = () => {
    throw problem("unavailable", "The database did not answer in time.");
  };
  store.beforeRead = (kind) => void (kind === "api-key" || fail());
  store.beforeCommit = fail;
  for (const name of operationNames.filter((one) => !isCatalog(one) && one !== "User.apiKeys")) {
    const { error } = await send(world, name, { id: UNKNOWN });
    expect([name, error?.message]).toEqual([name, "Service unavailable: The database did not answer in time."]);
    await world.clock.advance(2000);
  }
});

describe("the audit log", () => {
  test("tells of a change by the name that the client used, with the names of what was said and no value", async () => {
    await using world = await setup();
    await send(world, "Mutation.secretCreate");
    const { text } = await world.call("GET", "/v2/account/audit");
    expect(text).toContain('"operation":"secretCreate"');
    expect(text).toContain('"fields":["name","value"]');
  });

  test("tells of a refusal for a lack of rights, and not of those who have no account", async () => {
    await using world = await setup();
    await send(world, "Mutation.secretCreate", { key: await world.newKey({ scopes: ["secrets:read"] }) });
    await send(world, "Mutation.secretCreate", { key: null });
    const { json } = await world.call("GET", "/v2/account/audit");
    expect(JSON.stringify(json)).toContain("not-allowed");
  });
});
