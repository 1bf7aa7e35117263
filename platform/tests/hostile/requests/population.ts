/** Two accounts and what they own, made through the API: the ids for requests, and a ledger of what was acknowledged. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Services } from "../../../src/composition/services.ts";
import { realClock, stay } from "../../../src/kernel/clock.ts";
import { realRandom } from "../../../src/kernel/random.ts";
import type { Installation } from "../../../src/main.ts";
import { NodePasses } from "../../../src/surfaces/node-link/pass.ts";
import { call } from "../../world.ts";
import type { Named } from "./routes.ts";

/** An account that puts its marks into everything it makes, so that a leak to the other account is visible. */
export interface Person {
  key: string;
  /** A key that can only read. */
  readingKey: string;
  /** A word in every text of this account. */
  mark: string;
  /** A word in every secret value, which no answer may contain. */
  hiddenMark: string;
  /** Ids that requests may change and remove, by kind, newest last. */
  owns: Record<Named, string[]>;
  /** These stay unchanged, whatever else is done. */
  kept: Kept;
  /** An endpoint whose program answers. */
  app: string;
  /** Load-balanced endpoints, where callers may wait for a program. `app` is one of them. */
  balanced: Set<string>;
  /** An endpoint whose jobs wait until somebody takes them with the worker's key. */
  byHand: { endpoint: string; worker: string; key: string };
}

export interface Kept {
  endpoint: string;
  secret: string;
  apiKey: string;
  /** The records as they were when they were made. */
  records: Map<string, unknown>;
  /** Jobs that /run acknowledged. */
  jobs: Set<string>;
}

export const CPU = { cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
const LOOK_MS = 50;

export interface Place {
  url: string;
  machine: string;
  passes: NodePasses;
}

export async function placeOf(url: string, data: string, { vault }: Installation): Promise<Place> {
  const machine = (await readFile(join(data, "node-id"), "utf8")).trim();
  return { url, machine, passes: new NodePasses({ clock: realClock, random: realRandom, vault }) };
}

/** `folder` holds the program of the application. */
export async function settle(
  place: Place,
  name: string,
  key: string,
  folder: string,
  { endpoints, workerKeys }: Pick<Services, "endpoints" | "workerKeys">,
): Promise<Person> {
  const mark = `seen-${name}-${token()}`;
  const hiddenMark = `hidden-${name}-${token()}`;
  const send = async (method: string, path: string, body?: unknown) => {
    const answer = await call(place.url, method, path, { key, body });
    if (answer.status > 299) throw new Error(`${method} ${path} of ${name} was answered with ${answer.text}`);
    return answer.json;
  };
  const base = { ...CPU, image: "example/nothing:1", env: { MARK: mark } };
  const program = { ...CPU, image: `host:${folder}`, cmd: ["node", "small-app.mjs"], workers: { min: 1, max: 1 } };
  const balanced = { type: "LOAD_BALANCER", scaling: { type: "REQUEST_COUNT", requestCount: 100 } };
  const app = await send("POST", "/v2/serverless", { ...program, ...balanced, name: `app ${mark}` });
  const kept = await send("POST", "/v2/serverless", { ...base, name: `kept ${mark}`, workers: { min: 0, max: 0 } });
  const byHand = await send("POST", "/v2/serverless", {
    ...base,
    name: `by hand ${mark}`,
    workers: { min: 0, max: 0 },
  });
  const secret = await send("POST", "/v2/account/secrets", { name: "kept", value: hiddenMark, description: mark });
  const apiKey = await send("POST", "/v2/account/api-keys", { name: `kept ${mark}`, scopes: ["read-only"] });
  const worker = await workerKeys.issue((await endpoints.find(byHand.id))!.account, byHand.id);
  const job = await send("POST", `/v2/${kept.id}/run`, { input: { mark } });
  const person: Person = {
    ...{ key, readingKey: apiKey.key, mark, hiddenMark, app: app.id, balanced: new Set([app.id as string]) },
    owns: { ...nothing(), worker: [worker.id] },
    kept: { endpoint: kept.id, secret: secret.id, apiKey: apiKey.id, records: new Map(), jobs: new Set([job.id]) },
    byHand: { endpoint: byHand.id, worker: worker.id, key: worker.key },
  };
  for (const path of keptPaths(person)) person.kept.records.set(path, await send("GET", path));
  await untilAnswers(place, person);
  const { workers } = await send("GET", `/v2/serverless/${app.id}/workers`);
  person.owns.worker.push(...workers.map(({ id }: { id: string }) => id));
  return person;
}

export const keptPaths = ({ kept }: Person) => [
  `/v2/serverless/${kept.endpoint}`,
  `/v2/account/secrets/${kept.secret}`,
];

const token = () => Buffer.from(realRandom.bytes(9)).toString("hex");

const nothing = (): Person["owns"] => ({
  ...{
    endpoint: [],
    secret: [],
    apiKey: [],
    s3Key: [],
    publicEndpoint: [],
    listing: ["millrace.echo"],
    registry: [],
    delegation: [],
    template: [],
    pod: [],
    cluster: [],
    volume: [],
    catalog: ["NVIDIA%20L4", "cpu3c", "US-KS-2"],
    worker: [],
    build: [],
    job: [],
    batch: [],
    request: [],
    machine: [],
    person: [],
    invitation: [],
    session: [],
    rest: [],
  },
});

/** A program that has just started may not listen yet. */
async function untilAnswers({ url }: Place, { app, key }: Person, tries = 600): Promise<void> {
  while ((await call(url, "GET", `/v2/${app}/hello`, { key })).status !== 200) {
    if (--tries === 0) throw new Error("the application does not answer");
    await stay(LOOK_MS);
  }
}
