/** The OpenAPI document is checked in, served, and true: the tests call every operation and check every answer against it. */
import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { describe, expect, test } from "vitest";
import { CLUSTER_GPUS } from "../../../tests/cluster-doc.ts";
import {
  fitting,
  good,
  makeRegistry,
  makeSecret,
  type OwnRefusal,
  ownRefusals,
} from "../../../tests/described-calls.ts";
import { fakeSignOn } from "../../../tests/identity/fake-provider.ts";
import { eventsOf } from "../../../tests/job-world.ts";
import { sentAs, strangersTo } from "../../../tests/people-calls.ts";
import { type Answer, type CallOptions, InterceptedStore, setup, type World } from "../../../tests/world.ts";
import { operations as contract } from "../../contract.ts";
import { MIB, type Operation } from "../../kernel/operation.ts";
import { problem } from "../../kernel/problem.ts";
import { FakeCompute } from "../../ports/compute/fake-compute.ts";
import { openApiDocument } from "./openapi.ts";

interface Response {
  headers?: Record<string, unknown>;
  content?: Record<string, unknown>;
}

interface DescribedOperation {
  operationId: string;
  requestBody?: { content: Record<string, unknown> };
  responses: Record<string, Response>;
}

interface Document {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, DescribedOperation>>;
}

const document = openApiDocument() as unknown as Document;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, described]) => ({ ...described, path, method: method.toUpperCase() })),
);
type Described = (typeof operations)[number];
const whoMay = (name: string) => (contract as Record<string, Operation>)[name]!.who;

const ajv = new Ajv2020({ strict: false, allErrors: true });
(formats as unknown as (instance: Ajv2020) => void)(ajv);
ajv.addSchema(document, "openapi");

const pointer = (...parts: string[]) =>
  parts.map((part) => `/${encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"))}`).join("");

function schemaErrors(value: unknown, ...place: string[]): unknown {
  const validate = ajv.getSchema(`openapi#${pointer(...place)}`);
  if (!validate) throw new Error(`the document has no schema at ${place.join(" > ")}`);
  return validate(value) ? [] : validate.errors;
}

/** Returns the first event of a stream as if it were the whole answer. The stream ends with its world. */
async function firstEvent(world: World, path: string): Promise<Answer> {
  const response = await fetch(world.url + path, { headers: { authorization: `Bearer ${world.key}` } });
  const { value } = await eventsOf(response).next();
  return { status: response.status, headers: response.headers, text: value!.data, json: JSON.parse(value!.data) };
}

/** Every way in which an operation can be refused: pairs of the status and the call that causes it. */
async function refusals(
  world: World,
  { path, operationId, requestBody }: Described,
): Promise<(readonly [number, CallOptions & OwnRefusal])[]> {
  const all: (readonly [number, CallOptions & OwnRefusal])[] = await strangersTo(world, whoMay(operationId));
  if (requestBody?.content["application/json"]) {
    const limit = path.includes("secrets") ? 97 * MIB : MIB;
    all.push(
      [400, { body: "{" }],
      [413, { body: Buffer.alloc(limit + 1, " ") }],
      [415, { body: "{}", headers: { "content-type": "text/plain" } }],
      [422, { body: { bogus: true } }],
    );
  }
  if (path.includes("{id}")) all.push([404, { body: fitting[operationId], query: "?path=p" }]);
  return [...all, ...(ownRefusals[operationId] ?? [])];
}

/** Checks an answer against its description in the document. */
function expectDescribed({ path, method, responses }: Described, answer: Answer): void {
  const status = String(answer.status);
  const name = status in responses ? status : "default";
  const { headers = {}, content } = responses[name]!;
  const type = answer.headers.get("content-type")?.split(";")[0];
  if (!content) expect([answer.text, type]).toEqual(["", undefined]);
  else {
    expect(Object.keys(content)).toContain(type);
    const place = ["paths", path, method.toLowerCase(), "responses", name, "content", type!, "schema"];
    expect(schemaErrors(answer.json, ...place)).toEqual([]);
  }
  const present = Object.keys(headers).filter((header) => answer.headers.has(header));
  expect(present).toEqual(Object.keys(headers));
}

describe("the document", () => {
  test("is checked in as it is generated (npm exec node scripts/openapi.ts)", () => {
    const checkedIn = readFileSync(new URL("../../../../openapi.json", import.meta.url), "utf8");
    expect(checkedIn).toBe(`${JSON.stringify(openApiDocument(), null, 2)}\n`);
  });

  test("is served without a key", async () => {
    await using world = await setup();
    const { status, json, headers } = await world.call("GET", "/v2/openapi.json", { key: null });
    expect([status, headers.get("content-type")]).toEqual([200, "application/json; charset=utf-8"]);
    expect(json).toEqual(JSON.parse(JSON.stringify(openApiDocument())));
    expect([json.openapi, json.info.version]).toEqual(["3.1.0", "2.0.0"]);
  });

  test("never lets a secret's value out", () => {
    const schemas = openApiDocument().components as { schemas: Record<string, { properties: object }> };
    expect(Object.keys(schemas.schemas.Secret!.properties)).not.toContain("value");
  });
});

describe("every operation answers as the document says", () => {
  /** These operations can never succeed, since no endpoint has builds. */
  const neverSucceed = ["getEndpointBuild"];

  test.each(operations.filter(({ operationId }) => !neverSucceed.includes(operationId)))(
    "$operationId: when it succeeds",
    async (described) => {
      await using world = await setup({
        compute: (clock) => new FakeCompute(clock, CLUSTER_GPUS),
        domain: "pods.test",
        signOn: fakeSignOn,
        anonymousLimits: "1200,12000,100000",
      });
      expect(Object.keys(good)).toContain(described.operationId);
      const as = await sentAs(world, whoMay(described.operationId));
      const { body, query = "", headers, ...parameters } = await good[described.operationId]!(world);
      const path = described.path.replace(/\{(\w+)\}/g, (_, name: string) => String(parameters[name]));
      if (described.requestBody?.content["application/json"]) {
        const place = ["paths", described.path, described.method.toLowerCase(), "requestBody", "content"];
        expect(schemaErrors(body, ...place, "application/json", "schema")).toEqual([]);
      }
      const isStream = "text/event-stream" in (described.responses["200"]?.content ?? {});
      const answer = isStream
        ? await firstEvent(world, path)
        : await world.call(described.method, path + query, {
            ...as,
            body,
            ...(headers ? { headers: headers as Record<string, string> } : {}),
          });
      expect(answer.status).toBeLessThan(300);
      expect(Object.keys(described.responses)).toContain(String(answer.status));
      expectDescribed(described, answer);
    },
  );

  /** A body that is announced as too long is not one that `fetch` sends: the tests of volume files send it. */
  const SHOWN_ELSEWHERE = [
    ...["uploadVolumeFile 413", "uploadVolumeFile 507"],
    // These need a provider: the tests of sign-in by a provider show them.
    ...["beginSignInByProvider 401", "beginSignInByProvider 503", "signInByProvider 401", "signInByProvider 503"],
  ];

  test.each(operations)(
    "$operationId: however it is refused, and with every status that it declares",
    async (described) => {
      await using world = await setup({
        compute: (clock) => new FakeCompute(clock, CLUSTER_GPUS),
        anonymousLimits: "1200,12000,100000",
      });
      const as = await sentAs(world, whoMay(described.operationId));
      await makeSecret(world);
      if (described.operationId === "createRegistry") await makeRegistry(world);
      const path = described.path.replace("{id}", "aaaaaaaaaaaaaa");
      const seen = new Set<string>();
      for (const [status, { query = "", id, workerId = "none", bodyIn, ...options }] of await refusals(
        world,
        described,
      )) {
        const asked = id ? described.path.replace("{id}", await id(world)) : path;
        const place = asked.replace("{workerId}", workerId) + query;
        const headers = { ...as.headers, ...options.headers };
        const unsigned = options.headers && Object.keys(options.headers).length === 0;
        const answer = await world.call(described.method, place, {
          ...as,
          ...options,
          ...(bodyIn && { body: await bodyIn(world) }),
          headers: unsigned ? {} : headers,
        });
        expect([options, answer.status]).toEqual([options, status]);
        expectDescribed(described, answer);
        seen.add(String(status));
      }
      for (const [status, answer] of [await wrongMethod(world, path), await rateLimited(described, path)] as const) {
        expect(answer.status).toBe(status);
        expectDescribed(described, answer);
        seen.add(String(status));
      }
      const declared = Object.keys(described.responses).filter((status) => Number(status) >= 400);
      const isShown = (status: string) =>
        seen.has(status) || SHOWN_ELSEWHERE.includes(`${described.operationId} ${status}`);
      expect(declared.filter((status) => !isShown(status))).toEqual([]);
    },
  );

  async function wrongMethod(world: World, path: string): Promise<[number, Answer]> {
    return [405, await world.call("OPTIONS", path)];
  }

  async function rateLimited({ method, operationId }: Described, path: string): Promise<[number, Answer]> {
    await using world = await setup({ rateLimits: "1,1,1", anonymousLimits: "1,1,1" });
    if (whoMay(operationId) === "anybody") await world.call("GET", "/v2/account/sign-in", { key: null });
    else await world.call("GET", "/v2/account/ssh-keys");
    const key = whoMay(operationId) === "anybody" ? null : world.key;
    return [429, await world.call(method, path, { key })];
  }

  test("a fault of the server, in the form of the default answer", async () => {
    const store = new InterceptedStore();
    await using world = await setup({ store });
    const described = operations.find(({ operationId }) => operationId === "createSecret")!;
    for (const fault of [new Error("kaboom"), problem("unavailable", "The disk is full.")]) {
      store.beforeCommit = () => {
        throw fault;
      };
      const answer = await world.call("POST", described.path, { body: { name: "token", value: "v" } });
      expect(answer.status).toBeGreaterThanOrEqual(500);
      expectDescribed(described, answer);
    }
  });
});

describe("the document", () => {
  const text = JSON.stringify(document);
  const schemas = (
    document as unknown as { components: { schemas: Record<string, { properties: Record<string, Json> }> } }
  ).components.schemas;
  type Json = Record<string, unknown>;

  test("has no words of our own", () => expect(text).not.toMatch(/"x-/));

  test("says in characters and in words what is counted in bytes", () => {
    expect(schemas.CreateSecretRequest!.properties.value).toMatchObject({
      maxLength: 16_777_215,
      description: expect.stringContaining("At most 16777215 bytes of UTF-8."),
    });
  });

  test("has defaults where the service fills something in, and nowhere else", () => {
    expect(JSON.stringify(schemas.CreateEndpointRequest)).toContain('"default"');
    for (const name of ["UpdateEndpointRequest", "Endpoint", "ApiKey"])
      expect([name, JSON.stringify(schemas[name])]).toEqual([name, expect.not.stringContaining('"default"')]);
  });

  test("and they are true: an endpoint that says nothing has what the document says", async () => {
    await using world = await setup();
    const body = { name: "plain", image: "busybox", gpu: { pools: ["AMPERE_16"] } };
    const made = (await world.call("POST", "/v2/serverless", { body })).json as Json;
    const stated = Object.entries(schemas.CreateEndpointRequest!.properties).flatMap(([name, { default: value }]) =>
      value === undefined ? [] : [[name, value]],
    );
    expect(stated.length).toBeGreaterThan(8);
    for (const [name, value] of stated) expect([name, made[name as string]]).toEqual([name, value]);
    expect(made.workers).toEqual({ min: 0, max: 3, idleTimeout: 10 });
    const workers = (schemas.CreateEndpointRequest!.properties.workers as { properties: Record<string, Json> })
      .properties;
    for (const [name, value] of Object.entries(made.workers as Json))
      expect([name, workers[name]!.default]).toEqual([name, value]);
  });
});
