/** A request before it becomes bytes: valid at first, with real ids, and open to changes in every part. */
import type { SeededRandom } from "../../../src/kernel/random.ts";
import { PASS_HEADER } from "../../../src/surfaces/node-link/pass.ts";
import { CPU, type Person, type Place } from "./population.ts";
import type { Named, Route } from "./routes.ts";
import { asText, type SchemaValues } from "./schema-values.ts";

export interface Draft {
  route: Route;
  person: Person;
  method: string;
  /** The path parameters by name. */
  params: Record<string, string>;
  /** Replaces the route's path once it is set. */
  path?: string;
  query: [string, string][];
  headers: [string, string][];
  /** A value is sent as JSON. Text and bytes are sent unchanged. */
  body: { value: unknown } | { text: string | Buffer } | undefined;
  /** These bytes are sent instead of everything else. */
  raw?: Buffer;
  /** Describes the changes that were made. */
  changes: string[];
  /** Whether the request names something of the other account. */
  isForeign: boolean;
  /** Whether the framing is valid HTTP, so that the answer belongs to this request and the connection stays usable. */
  isFramed: boolean;
  /** Whether a part of the body is never sent, so that the server waits for it. */
  isShort: boolean;
}

export interface Scene {
  place: Place;
  chance: SeededRandom;
  values: SchemaValues;
}

/** At least this many things are kept, so that requests have something to name. */
const FEW = 3;
const NEVER_CHANGED = new Set(["PATCH", "DELETE", "PUT"]);
/** Routes that would end, empty or take the things that must stay. */
const TAKES = /\/(purge-queue|cancel|retry|job-|status|batch|runsync|openai)/;

export function validDraft({ place, chance, values }: Scene, route: Route, person: Person): Draft {
  const params = paramsOf(route, person, chance, place);
  const query = Object.entries(route.query)
    .filter(() => chance.chance(0.3))
    .map(([name, schema]): [string, string] => [name, asText(values.fitting(schema))]);
  const draft: Draft = {
    ...{
      route,
      person,
      method: route.method,
      params,
      query,
      headers: [],
      body: bodyOf(route, person, params, chance, values),
    },
    ...{ changes: [], isForeign: false, isFramed: true, isShort: false },
  };
  draft.headers = headersOf(draft, place, chance);
  return draft;
}

export function pathOf({ path, route, params }: Draft): string {
  return path ?? route.path.replace(/\{(\w+)\}/g, (_, name: string) => params[name]!);
}

export function targetOf(draft: Draft): string {
  const search = draft.query.map(([name, value]) => `${escaped(name)}=${escaped(value)}`).join("&");
  return pathOf(draft) + (search ? `?${search}` : "");
}

/**
 * The methods and the target that are really sent. Raw bytes are fixed when they are made, and later changes of the draft do not reach
 * them.
 */
export function sentAs({ raw, method, ...draft }: Draft): { methods: string[]; target: string } {
  const target = targetOf({ method, ...draft });
  if (!raw) return { methods: [method], target };
  const text = raw.toString("latin1");
  return { methods: [method, ...(/^[A-Z]+(?= )/.exec(text.trimStart()) ?? [])], target: `${target} ${text}` };
}

/** Existing escapes stay unchanged. */
const escaped = (text: string) => text.toWellFormed().replace(/[^\w.~%+,{}":[\]-]/gu, encodeURIComponent);

function paramsOf(route: Route, person: Person, chance: SeededRandom, place: Place): Record<string, string> {
  const names = Object.entries(route.params);
  const endpoint = endpointFor(route, person, chance);
  return Object.fromEntries(names.map(([name, named]) => [name, idFor(named, endpoint, route, person, chance, place)]));
}

function endpointFor(route: Route, { owns, app, byHand, kept }: Person, chance: SeededRandom): string {
  if (route.of === "app" || route.key === "node") return app;
  if (route.key === "worker") return byHand.endpoint;
  const own = chance.pick([...owns.endpoint, byHand.endpoint]);
  const isSafe = !NEVER_CHANGED.has(route.method) && !TAKES.test(route.path);
  if (/^deleteEndpoint$/i.test(route.name)) return owns.endpoint.length > FEW ? owns.endpoint[0]! : "gone";
  if (/^updateEndpoint(ByPost)?$/i.test(route.name))
    return owns.endpoint.length > 0 ? chance.pick(owns.endpoint) : "gone";
  if (route.path.includes("/workers")) return chance.pick([app, own]);
  return isSafe ? chance.pick([own, kept.endpoint]) : own;
}

function idFor(
  named: Named,
  endpoint: string,
  route: Route,
  person: Person,
  chance: SeededRandom,
  place: Place,
): string {
  const { owns, kept, byHand } = person;
  if (named === "endpoint") return endpoint;
  if (named === "machine") return place.machine;
  if (named === "rest") return chance.pick(["hello", "v1/chat/completions", "echo", "a/b?c=d", "v1/models"]);
  if (named === "worker") return route.key === "worker" ? byHand.worker : chance.pick(owns.worker);
  const isRead = route.method === "GET";
  if (named === "secret" && isRead) return chance.pick([kept.secret, ...owns.secret]);
  // A job, batch or request is stored together with its endpoint.
  const fitting = (owns[named] ?? []).filter((id) => !id.includes("@") || id.endsWith(`@${endpoint}`));
  return (fitting.length > 0 ? chance.pick(fitting) : "gone").split("@")[0]!;
}

function headersOf({ route, body, person, method }: Draft, place: Place, chance: SeededRandom): [string, string][] {
  const headers: [string, string][] = [["Host", new URL(place.url).host]];
  if (route.key === "account") headers.push(["Authorization", `Bearer ${person.key}`]);
  if (route.key === "worker") headers.push(["Authorization", person.byHand.key]);
  if (body) headers.push(["Content-Type", "application/json"]);
  if (route.key === "node" && method === "GET" && route.path.endsWith("connection"))
    headers.push(["Connection", "Upgrade"], ["Upgrade", "millrace-worker"]);
  if (route.headers.includes("Idempotency-Key") && chance.chance(0.3))
    headers.push(["Idempotency-Key", `key-${chance.below(50)}`]);
  return headers;
}

/** Added last, since the pass covers the path and query exactly as they are sent. */
export function withPass(draft: Draft, { passes }: Place): void {
  if (draft.route.key === "node") draft.headers.push([PASS_HEADER, passes.issue(draft.method, targetOf(draft))]);
}

type Example = (person: Person, chance: SeededRandom) => Record<string, unknown> | unknown[];

/** Each endpoint may start one worker. No machine can start these, so there are never more than a few. */
const WORKERS = { min: 0, max: 1 };

/** Bodies that also meet the rules beyond the schema. All other bodies are made from the schema. */
const examples: Record<string, Example> = {
  createEndpoint: ({ mark }, chance) => ({
    ...CPU,
    ...{ name: `made ${mark}`, image: "example/nothing:1", env: { MARK: mark }, workers: WORKERS },
    type: chance.pick(["QUEUE", "QUEUE", "LOAD_BALANCER"]),
    ...(chance.chance(0.5) ? { timeout: 60_000, flashboot: "FLASHBOOT", ports: ["8080/http"], disk: 10 } : {}),
  }),
  updateEndpoint: ({ mark }, chance) =>
    chance.pick([
      { name: `new ${mark}` },
      { env: { MARK: `${mark} ${chance.below(9)}` } },
      { workers: { max: 1 } },
      { timeout: 9000 },
    ]),
  createSecret: ({ mark, hiddenMark }, chance) => ({
    name: `s${chance.below(1e6)}`,
    value: hiddenMark,
    description: mark,
  }),
  updateSecret: ({ mark, hiddenMark }, chance) =>
    chance.pick([{ value: hiddenMark }, { description: mark }, { value: hiddenMark, description: "" }]),
  createApiKey: ({ mark, owns }, chance) => ({
    name: `made ${mark}`,
    scopes: chance.pick([["read-only"], ["serverless:invoke", "secrets:read"]]),
    ...(chance.chance(0.3) && owns.endpoint.length > 0 ? { endpoints: [owns.endpoint[0]] } : {}),
  }),
  createS3Key: ({ mark }) => ({ name: `made ${mark}` }),
  createPublicEndpoint: ({ mark, owns }, chance) => ({
    ...{ name: `model-${chance.below(1e9)}`, title: mark, everyone: false },
    endpointId: owns.endpoint.at(-1) ?? "nothing",
    price: { perRequest: chance.below(9) },
  }),
  updatePublicEndpoint: ({ mark }, chance) =>
    chance.pick([{ title: `new ${mark}` }, { price: { perSecond: 1 } }, { limits: { jobsAtOnce: 9 } }]),
  deployHubListing: ({ mark }, chance) => ({
    ...{ name: `made ${mark}`, variables: { LEVEL: chance.below(12), TOKEN: mark }, test: chance.chance(0.5) },
  }),
  createRegistry: ({ mark, hiddenMark }, chance) => ({
    name: `r${chance.below(1e6)} ${mark}`,
    ...{ username: hiddenMark, password: hiddenMark },
  }),
  createDelegation: ({ mark }) => ({
    ...{ name: mark, resource: "arn:aws:ecr:us-east-2:123456789012:repository/team/model" },
  }),
  createTemplate: ({ mark, owns }, chance) => ({
    ...{ name: `t${chance.below(1e6)} ${mark}`, image: "example/nothing:1", env: { MARK: mark } },
    serverless: chance.chance(0.5),
    ...(chance.chance(0.3) && owns.registry.length > 0 ? { registry: owns.registry.at(-1) } : {}),
  }),
  updateTemplate: ({ mark }, chance) =>
    chance.pick([{ env: { MARK: `${mark} ${chance.below(9)}` } }, { disk: 3 }, { startSsh: false }, { cmd: ["a"] }]),
  createNetworkVolume: ({ mark }) => ({ name: `made ${mark}`, size: 10, dataCenter: "US-KS-2" }),
  updateNetworkVolume: ({ mark }) => ({ name: `new ${mark}` }),
  createPod: ({ mark }) => ({
    ...{ name: `made ${mark}`, image: "example/nothing:1", env: { MARK: mark } },
    cpu: { id: "cpu3c", vcpuCount: 2 },
  }),
  updatePod: ({ mark }, chance) => chance.pick([{ name: `new ${mark}` }, { env: { MARK: mark } }, { locked: false }]),
  createCluster: ({ mark }, chance) => ({
    ...{ name: `made ${mark}`, image: "example/nothing:1", type: chance.pick(["APPLICATION", "SLURM", "RAY"]) },
    compute: { gpuTypeId: "NVIDIA L4", gpuCountPerPod: 1, podCount: 2 },
    env: { MARK: mark },
  }),
  updateCluster: ({ mark }) => ({ name: `new ${mark}` }),
  updateSshKeys: ({ mark }) => ({ keys: [`ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 ${mark}`] }),
};

function bodyOf(
  route: Route,
  person: Person,
  params: Record<string, string>,
  chance: SeededRandom,
  values: SchemaValues,
): Draft["body"] {
  if (route.text) return { text: linesFor(person, chance) };
  if (!route.body || (route.method === "GET" && chance.chance(0.8))) return undefined;
  const example = examples[route.name]?.(person, chance);
  if (example)
    return { value: chance.chance(0.2) ? { ...(values.fitting(route.body) as object), ...example } : example };
  const value = values.fitting(route.body);
  const isSubmission = /\/(run|runsync|batch|requests)$/.test(route.path) && route.method === "POST";
  if (!isSubmission) return { value };
  const job = { input: { mark: person.mark, prompt: "x" } };
  // The endpoint that must stay gets only plain jobs.
  if (params.endpoint_id === person.kept.endpoint) return { value: job };
  return { value: Array.isArray(value) ? [job, job] : { ...(value as object), ...job, webhook: undefined } };
}

/** Lines for /job-exchange: `<job id> <attempt> <result>`. */
function linesFor({ owns, mark }: Person, chance: SeededRandom): string {
  const line = () =>
    `${chance.pick([...owns.job, "gone"]).split("@")[0]} ${1 + chance.below(2)} ${JSON.stringify({ output: mark })}`;
  return Array.from({ length: chance.below(4) }, line).join("\n");
}
