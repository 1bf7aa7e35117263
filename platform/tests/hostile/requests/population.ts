/** Two accounts and what they own, made through the API: the ids that requests are about, and a ledger of what was acknowledged. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Services } from "../../../src/composition/services.ts";
import { realClock, stay } from "../../../src/kernel/clock.ts";
import { realRandom } from "../../../src/kernel/random.ts";
import type { Installation } from "../../../src/main.ts";
import { NodePasses } from "../../../src/surfaces/node-link/pass.ts";
import { call } from "../../world.ts";
import type { Named } from "./routes.ts";

/** What may not be seen by the other account stands in everything that an account makes. */
export interface Person {
  key: string;
  /** Reads, and does nothing else. */
  readingKey: string;
  /** A word that is in every text of this account. */
  mark: string;
  /** A word that is in every secret value, and so in no answer at all. */
  hiddenMark: string;
  /** By what they are, ids that requests may change and remove; the newest last. */
  owns: Record<Named, string[]>;
  /** Whatever else is done, these stay as they are. */
  kept: Kept;
  /** Its program answers. */
  app: string;
  /** Endpoints whose callers wait for a program, as well as the one that has one. */
  balanced: Set<string>;
  /** Its jobs wait for whoever asks with the worker's key. */
  byHand: { endpoint: string; worker: string; key: string };
}

export interface Kept {
  endpoint: string;
  secret: string;
  apiKey: string;
  /** As they were when they were made. */
  records: Map<string, unknown>;
  /** Acknowledged by /run. */
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

/** In the folder lies the program of its application. */
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
