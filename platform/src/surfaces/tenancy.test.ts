/** Two accounts: calls every route with the ids of one account and the keys of the other. No call may find anything. */

import { describe, expect, test } from "vitest";
import { type BalancedWorld, setupBalanced } from "../../tests/balanced-world.ts";
import { putCluster } from "../../tests/cluster-doc.ts";
import { eventsOf } from "../../tests/job-world.ts";
import { signedInOwner } from "../../tests/people.ts";
import { putPod } from "../../tests/pod-doc.ts";
import { putVolume } from "../../tests/volume-doc.ts";
import { putWorker, workerDoc } from "../../tests/worker-doc.ts";
import type { Answer } from "../../tests/world.ts";
import { operations } from "../contract.ts";
import type { Operation } from "../kernel/operation.ts";
import { saying } from "../kernel/reason.ts";
import { workerLog } from "../resources/workers/model.ts";
import { restV1Operations } from "./rest-v1/operations.ts";

const everyOperation: Operation[] = [...Object.values(operations), ...Object.values(restV1Operations)];
const ofAccounts = everyOperation.filter(({ who }) => who === undefined);

const DOMAIN = "apps.millrace.test";
/** No answer to another account may contain this text. */
const PRIVATE = "walked-by-nobody";
const ARN = "arn:aws:ecr:us-east-2:123456789012:repository/team/model";
const WRONG_WORKER_KEY_HOLD_MS = 5000;

type Ids = Record<
  | "s3Key"
  | "publicEndpoint"
  | "deployment"
  | "secret"
  | "apiKey"
  | "endpoint"
  | "job"
  | "batch"
  | "request"
  | "worker"
  | "volume"
  | "pod"
  | "cluster"
  | "template"
  | "registry"
  | "delegation"
  | "person"
  | "invitation"
  | "session",
  string
>;

const UNKNOWN: Ids = {
  s3Key: "zzzzzzzzzzzzzz",
  publicEndpoint: "no-such-model",
  deployment: "zzzzzzzzzzzzzz",
  secret: "zzzzzzzzzzzzzz",
  apiKey: "zzzzzzzzzzzzzz",
  endpoint: "zzzzzzzzzzzzzz",
  job: "00000000-0000-7000-8000-000000000000-u1",
  batch: "batch_zzzzzzzzzzzzzz",
  request: "00000000-0000-7000-8000-000000000000-u1",
  worker: "zzzzzzzzzzzzzz",
  volume: "zzzzzzzzzzzzzz",
  pod: "zzzzzzzzzzzzzz",
  cluster: "zzzzzzzzzzzzzz",
  template: "zzzzzzzzzzzzzz",
  registry: "zzzzzzzzzzzzzz",
  delegation: "zzzzzzzzzzzzzz",
  person: "zzzzzzzzzzzzzz",
  invitation: "zzzzzzzzzzzzzz",
  session: "zzzzzzzzzzzzzz",
};

/** Says what kind of id a path that begins this way contains. Each new route with an id needs an entry here. */
const ID_OF: Record<string, keyof Ids> = {
  "/v2/account/secrets/{id}": "secret",
  "/v2/account/api-keys/{id}": "apiKey",
  "/v2/account/people/{id}": "person",
  "/v2/account/invitations/{id}": "invitation",
  "/v2/account/sessions/{id}": "session",
  "/v2/network-volumes/{id}": "volume",
  "/v2/account/s3-keys/{id}": "s3Key",
  "/v2/public-endpoints/{id}": "publicEndpoint",
  "/v2/hub/deployments/{id}": "deployment",
  // Listings are for every account.
  "/v2/hub/listings/{id}": "endpoint",
  "/v2/pods/{id}": "pod",
  "/v2/clusters/{id}": "cluster",
  "/v2/templates/{id}": "template",
  "/v2/registries/delegations/{id}": "delegation",
  "/v2/registries/{id}": "registry",
  "/v2/serverless/{id}": "endpoint",
  // Machines belong to the installation: everyone but its owner is refused before anything is looked up.
  "/v2/installation/machines/{id}": "endpoint",
  "/v2/installation/nodes/{id}": "endpoint",
  "/v2/installation/accounts/{id}": "endpoint",
  "/v2/installation/models/{id}": "endpoint",
  // The catalog belongs to no account and contains nothing of one.
  "/v2/catalog/gpus/{id}": "endpoint",
  "/v2/catalog/cpus/{id}": "endpoint",
  "/v2/catalog/datacenters/{id}": "endpoint",
};

/** Says what kind of id each path parameter of REST v1 is. */
const REST_V1: Record<string, keyof Ids> = {
  podId: "pod",
  endpointId: "endpoint",
  templateId: "template",
  networkVolumeId: "volume",
  containerRegistryAuthId: "registry",
};

/** Bodies that would be valid if the owner sent them, so that only the caller is wrong. */
const BODIES: Record<string, unknown> = {
  "PATCH /v2/account/secrets/{id}": { value: "taken over" },
  "PATCH /v2/account/people/{id}": { name: "taken over" },
  "PATCH /v2/network-volumes/{id}": { name: "taken over" },
  "POST /v2/network-volumes/{id}/files/links": { path: "models" },
  "POST /v2/network-volumes/{id}/files/folders": { path: "taken/over" },
  "POST /v2/network-volumes/{id}/files/move": { from: "models", to: "taken/over" },
  "PATCH /v2/serverless/{id}": { name: "taken over" },
  "PATCH /v2/public-endpoints/{id}": { everyone: true },
  "POST /v2/hub/listings/{id}/deploy": {},
  "PATCH /v2/pods/{id}": { name: "taken over" },
  "POST /v2/pods/{id}/action": { action: "terminate" },
  "PATCH /v2/clusters/{id}": { name: "taken over" },
  "POST /v2/pods/{id}/terminal": {},
  "POST /v2/serverless/{id}/workers/{workerId}/terminal": {},
  "PATCH /v2/templates/{id}": { name: "taken over" },
  "POST /v2/installation/machines/{id}/action": { action: "drain" },
  "PATCH /v2/installation/accounts/{id}": { spendLimitMost: 1 },
  "PATCH /v2/installation/models/{id}": { everyone: true },
  "POST /v2/installation/accounts/{id}/credit": { amount: 1 },
  "POST /v2/installation/accounts/{id}/keys": { scopes: ["all"] },
  ...Object.fromEntries(
    ["networkvolumes/{networkVolumeId}", "templates/{templateId}", "pods/{podId}", "endpoints/{endpointId}"].flatMap(
      (one) => [
        [`PATCH /v1/${one}`, { name: "taken over" }],
        [`POST /v1/${one}/update`, { name: "taken over" }],
      ],
    ),
  ),
  "POST /v2/{endpoint_id}/run": { input: {} },
  "POST /v2/{endpoint_id}/runsync": { input: {} },
  "POST /v2/{endpoint_id}/batch": [{ input: {} }],
  "PUT /v2/{endpoint_id}/batch/{batch_id}": { displayName: "taken over" },
  "POST /v2/{endpoint_id}/batch/{batch_id}/requests": { requests: [{ input: {} }] },
};

interface Route {
  method: string;
  path: string;
}

const EVENTS = "/v2/account/events";

/** `fetch` cannot send TRACE, and HEAD shows nothing that GET does not. */
const UNSENT = ["TRACE", "HEAD"];

function pathFor(path: string, ids: Ids): string {
  const idOf = (name: string) => {
    const named = REST_V1[name] ?? name.replace(/_id$/, "");
    if (named in ids) return ids[named as keyof Ids];
    // No endpoint has builds, so any id stands for a build that does not exist.
    if (name === "workerId" || name === "buildId") return ids.worker;
    if (name === "port") return "8888";
    if (name === "keyId") return ids.apiKey;
    const kind = Object.entries(ID_OF).find(([start]) => path === start || path.startsWith(`${start}/`))?.[1];
    if (name !== "id" || kind === undefined) throw new Error(`say in this test whose id '{${name}}' of ${path} is`);
    return ids[kind];
  };
  return path.replace("{path*}", "any/thing").replace(/\{(\w+)\}/g, (_, name: string) => idOf(name));
}

async function setup() {
  const world = await setupBalanced({ domain: DOMAIN });
  const worker = world.worker("balanced", (_request, response) => void response.end(PRIVATE));
  const make = async (path: string, body: unknown) => (await world.call("POST", path, { body })).json.id as string;
  const compute = { image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const endpoint = await make("/v2/serverless", { name: PRIVATE, ...compute });
  const drafted = await world.call("POST", `/v2/${endpoint}/batch`, { body: [{ input: { text: PRIVATE } }] });
  const ids: Ids = {
    secret: await make("/v2/account/secrets", { name: "token", value: PRIVATE, description: PRIVATE }),
    s3Key: await make("/v2/account/s3-keys", { name: PRIVATE }),
    publicEndpoint: await make("/v2/public-endpoints", { name: "a-model", title: PRIVATE, endpointId: endpoint }),
    deployment: await make("/v2/hub/listings/millrace.echo/deploy", { name: PRIVATE, test: false }),
    apiKey: await make("/v2/account/api-keys", { name: PRIVATE, scopes: ["all"] }),
    endpoint,
    job: await make(`/v2/${endpoint}/run`, { input: { text: PRIVATE } }),
    batch: drafted.json.id,
    request: drafted.json.requestIds[0],
    worker: await makeWorker(world, endpoint),
    volume: await putVolume(world, PRIVATE),
    pod: await putPod(world, { name: PRIVATE, ports: ["8888/http"] }),
    cluster: await putCluster(world, PRIVATE),
    template: await make("/v2/templates", { name: PRIVATE, image: "busybox" }),
    registry: await make("/v2/registries", { name: PRIVATE, username: PRIVATE, password: PRIVATE }),
    delegation: await make("/v2/registries/delegations", { resource: ARN, name: PRIVATE }),
    person: world.owner.user,
    invitation: await make("/v2/account/invitations", { role: "viewer", email: `${PRIVATE}@example.com` }),
    session: (await (await signedInOwner(world)).call("GET", "/v2/account/me")).json.session.id,
  };
  await world.call("PUT", "/v2/account/ssh-keys", { body: { keys: [`ssh-ed25519 AAAA ${PRIVATE}`] } });
  const stranger = await world.services.accounts.create("stranger", "s@localhost");
  const key = await world.newKey({ of: stranger, exempt: true });
  const theirs = (await world.call("POST", "/v2/serverless", { key, body: { name: "theirs", ...compute } })).json.id;
  const workerKey = (await world.services.workerKeys.issue(stranger.account, theirs)).key;
  return { world, worker, ids, key, workerKey };
}

/** Makes a worker with a record and a log. */
async function makeWorker(world: BalancedWorld, endpoint: string): Promise<string> {
  const id = "thisisaworker1";
  const doc = workerDoc({ owner: endpoint, image: PRIVATE, reason: saying("program-ended", PRIVATE) });
  const { account } = world.owner;
  await putWorker(world.services.workerRecords, { id, account, createdAt: 0, doc });
  world.logs.append(workerLog(endpoint, id), [{ source: "container", ts: 1, line: PRIVATE }]);
  return id;
}

/** Reads everything that the owner has, to compare it before and after. */
async function inventory(world: BalancedWorld, ids: Ids): Promise<unknown> {
  const paths = [
    "/v2/account/secrets",
    "/v2/account/ssh-keys",
    "/v2/account/people",
    "/v2/account/invitations",
    "/v2/serverless",
    "/v2/network-volumes",
    "/v2/pods",
    "/v2/templates",
    "/v2/registries",
    "/v2/registries/delegations",
    `/v2/serverless/${ids.endpoint}/workers`,
    `/v2/${ids.endpoint}/status/${ids.job}`,
    `/v2/${ids.endpoint}/health`,
    `/v2/${ids.endpoint}/batch`,
    `/v2/${ids.endpoint}/batch/${ids.batch}/requests`,
  ];
  return Promise.all(paths.map(async (path) => (await world.call("GET", path)).json));
}

/** Reads the first event of a stream, which holds all there is before something changes. The stream does not end by itself. */
async function beginningOf(world: BalancedWorld, path: string, key: string): Promise<Pick<Answer, "status" | "text">> {
  const response = await fetch(world.url + path, { headers: { authorization: `Bearer ${key}` } });
  if (!response.ok) return { status: response.status, text: await response.text() };
  const { value } = await eventsOf(response).next();
  return { status: response.status, text: value!.data };
}

/** Returns the answer, and advances the clock where a wrong worker key is answered late. */
async function answerTo(
  world: BalancedWorld,
  { method, path }: Route,
  ids: Ids,
  key: string | null,
): Promise<Pick<Answer, "status" | "text">> {
  if (path === EVENTS && method === "GET" && key !== null) return beginningOf(world, path, key);
  const body = BODIES[`${method} ${path}`];
  const options = { key, ...(body === undefined || method === "GET" ? {} : { body }) };
  // Files are named in the query.
  const query = path.includes("/files") ? "?path=models" : "";
  const asked = world.call(method, pathFor(path, ids) + query, options);
  let answered = false;
  void asked.finally(() => {
    answered = true;
  });
  // A duty always has one timer of this length.
  const held = world.clock.armed(WRONG_WORKER_KEY_HOLD_MS, 3).then(() => !answered);
  if (await Promise.race([asked.then(() => false), held])) await world.clock.advance(WRONG_WORKER_KEY_HOLD_MS);
  const { status, text } = await asked;
  // An answer may repeat the id that was asked for, but nothing else.
  const shown = Object.values(ids).reduce((rest, id) => rest.replaceAll(id, "ID"), text);
  return { status, text: shown };
}

const isPublic = ({ path }: Route) =>
  ["/docs", "/v2/openapi.json", "/v1/docs", "/v1/openapi.json"].some((open) => path.startsWith(open));

test("the walk knows every operation and every route, and gives every change a body that would do", async () => {
  await using world = await setupBalanced();
  const routes = world.app.http.router.mounted;
  const known = new Set(routes.map(({ method, path }) => `${method} ${path}`));
  for (const { method, path, ...operation } of everyOperation) {
    const route = `${method} ${path}`;
    expect(known).toContain(route);
    if ("in" in operation && path.includes("{")) expect(Object.keys(BODIES)).toContain(route);
  }
  for (const route of [
    "POST /v2/{endpoint_id}/runsync",
    "GET /v2/{endpoint_id}/job-take/{worker_id}",
    "GET /v2/{endpoint_id}/{path*}",
  ])
    expect(known).toContain(route);
});

describe.each([
  ["an API key of another account", "key"],
  ["a worker key of another account", "workerKey"],
  ["no key", "none"],
] as const)("with %s", (_kind, whose) => {
  test.each([
    ["every route of every kind, and a queue endpoint,", "endpoint"],
    ["every route of a load-balancing endpoint", "balanced"],
  ])("%s answers as if nothing were there", async (_routes, which) => {
    const { world, worker, ids, ...keys } = await setup();
    await using _ = world;
    const key = { ...keys, none: null }[whose];
    const foreign = which === "balanced" ? { ...ids, endpoint: world.endpoint, worker: worker.id } : ids;
    const before = await inventory(world, ids);
    const routes = world.app.http.router.mounted;
    const walked = routes.filter(
      (route) =>
        !UNSENT.includes(route.method) &&
        !isPublic(route) &&
        // The other walk makes the requests that name no endpoint.
        (which === "endpoint" || pathFor(route.path, foreign) !== pathFor(route.path, ids)),
    );
    for (const route of walked) {
      const answer = await answerTo(world, route, foreign, key);
      expect(answer.text, `${route.method} ${route.path}`).not.toContain(PRIVATE);
      expect(answer.text, `${route.method} ${route.path}`).not.toContain(world.endpoint);
      if (!route.path.includes("{")) continue;
      expect([route, answer]).toEqual([route, await answerTo(world, route, UNKNOWN, key)]);
      expect(answer.status, `${route.method} ${route.path}`).toBeGreaterThanOrEqual(400);
    }
    expect(await inventory(world, ids)).toEqual(before);
    expect(worker.dialled).toBe(0);
  });
});

test("operations on a single thing are 404, in the same words as for one that is not there", async () => {
  const { world, ids, key } = await setup();
  await using _ = world;
  for (const { method, path } of ofAccounts.filter(({ path }) => path.includes("{"))) {
    const route = { method, path };
    const answer = await answerTo(world, route, ids, key);
    expect([route, answer.status]).toEqual([route, 404]);
  }
});

test("the host form of a foreign endpoint, balanced or with a queue, is that of one that is not there", async () => {
  const { world, worker, ids, key } = await setup();
  await using _ = world;
  const get = async (endpoint: string) => {
    const host = `${endpoint}.${DOMAIN}`;
    const answer = await world.raw(
      `GET / HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${key}\r\nConnection: close\r\n\r\n`,
    );
    return answer.replace(/^(X-Request-Id|Date):.*$/gim, "");
  };
  const unknown = await get(UNKNOWN.endpoint);
  expect(unknown).toMatch(/^HTTP\/1.1 404/);
  expect(await get(ids.endpoint)).toBe(unknown);
  expect(await get(world.endpoint)).toBe(unknown);
  expect(worker.dialled).toBe(0);
});

test("a WebSocket to a foreign endpoint is refused like one to an endpoint that is not there", async () => {
  const { world, worker, ids, key } = await setup();
  await using _ = world;
  const upgrade =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAA\r\n";
  const ask = async (endpoint: string) => {
    const head = `GET /v2/${endpoint}/health HTTP/1.1\r\nHost: h\r\nAuthorization: ${key}\r\n`;
    return (await world.raw(`${head}${upgrade}\r\n`)).replace(/^(X-Request-Id|Date):.*$/gim, "");
  };
  const unknown = await ask(UNKNOWN.endpoint);
  expect(unknown).toMatch(/^HTTP\/1.1 404/);
  expect(await ask(ids.endpoint)).toBe(unknown);
  expect(await ask(world.endpoint)).toBe(unknown);
  expect(worker.dialled).toBe(0);
});

test("lists hold nothing of another account", async () => {
  const { world, ids, key } = await setup();
  await using _ = world;
  for (const { method, path } of ofAccounts.filter(({ path, method }) => method === "GET" && !path.includes("{"))) {
    const asked = path === EVENTS ? beginningOf(world, path, key) : world.call(method, path, { key });
    const { status, text } = await asked;
    expect([path, status]).toEqual([path, 200]);
    for (const id of [...Object.values(ids), world.endpoint]) expect(text).not.toContain(id);
    expect(text).not.toContain(PRIVATE);
  }
});
