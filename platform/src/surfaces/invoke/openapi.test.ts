/** The OpenAPI document of endpoint calls is checked in and served. Together with those of REST it names every route. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { callsIn } from "../../../tests/described-answers.ts";
import { setup } from "../../../tests/world.ts";
import { restV1Document } from "../rest-v1/openapi.ts";
import { openApiDocument } from "../rest-v2/openapi.ts";
import { documentedPath, invokeDocument } from "./openapi.ts";

const document = invokeDocument();
const calls = callsIn(document);

/** Documentation pages and documents. They contain nothing of any account. */
const OPEN = /^\/(v1\/docs|v[12]\/openapi(-invoke)?\.json$)/;
/** Routes outside the OpenAPI documents. GraphQL has its own schema. */
const DESCRIBED_BY_THEMSELVES = [
  // Probes answer machines with just a status.
  ...["/healthz", "/readyz", "/favicon.ico"].map((path) => `GET ${path}`),
  // It answers Prometheus, in the form of Prometheus.
  "GET /metrics",
  // A link that an operation makes. It takes no key.
  "GET /v2/network-volumes/{id}/files/link",
  "POST /graphql",
  "GET /graphql",
];
/** Calls of load-balancing endpoints are answered before the routes. */
const isAhead = ({ tags }: { tags: string[] }) => tags.includes("Load balancing");

const named = ({ method, path }: { method: string; path: string }) => `${method} ${documentedPath(path)}`;

async function mountedRoutes(): Promise<string[]> {
  await using world = await setup();
  const mounted = world.app.http.router.mounted.filter(
    ({ method, path, refuses }) => !refuses && method !== "HEAD" && !OPEN.test(path),
  );
  return mounted.map(named);
}

test("it is checked in as it is generated (npm exec node scripts/openapi.ts)", () => {
  const checkedIn = readFileSync(new URL("../../../../openapi-invoke.json", import.meta.url), "utf8");
  expect(checkedIn).toBe(`${JSON.stringify(document, null, 2)}\n`);
});

test("it is served without a key", async () => {
  await using world = await setup();
  const { status, json, headers } = await world.call("GET", "/v2/openapi-invoke.json", { key: null });
  expect([status, headers.get("content-type")]).toEqual([200, "application/json; charset=utf-8"]);
  expect(json).toEqual(JSON.parse(JSON.stringify(document)));
});

test("every route that is mounted is in one of the documents, or describes itself", async () => {
  const all = [...calls, ...callsIn(openApiDocument()), ...callsIn(restV1Document())].map(named);
  const described = new Set([...all, ...DESCRIBED_BY_THEMSELVES]);
  const mounted = await mountedRoutes();
  expect(mounted).toContain("POST /v2/{endpoint_id}/run");
  expect(mounted.filter((route) => !described.has(route))).toEqual([]);
});

test("every route that is in one of them is mounted", async () => {
  const mounted = new Set(await mountedRoutes());
  const ours = calls.filter((call) => !isAhead(call));
  const described = [...ours, ...callsIn(openApiDocument()), ...callsIn(restV1Document())].map(named);
  expect(described.filter((route) => !mounted.has(route))).toEqual([]);
});

test("no route is in both it and that of REST v2, and no two operations or shapes have one name", () => {
  const both = [...calls, ...callsIn(openApiDocument())];
  expect(new Set(both.map(named)).size).toBe(both.length);
  expect(new Set(both.map(({ operationId }) => operationId)).size).toBe(both.length);
  const names = (of: object) => Object.keys((of as { components: { schemas: object } }).components.schemas);
  const shared = names(document).filter((name) => names(openApiDocument()).includes(name));
  expect(shared).toEqual([]);
});

test("has no words of our own", () => expect(JSON.stringify(document)).not.toMatch(/"x-/));
