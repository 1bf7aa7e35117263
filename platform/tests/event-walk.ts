/** Random changes on several nodes while clients follow, leave and return: in the end they know exactly what the lists show. */
import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import { SeededRandom } from "../src/kernel/random.ts";
import { EventFollower, type Place, readLists } from "./event-follower.ts";

export interface EventWalk {
  seed: number;
  steps: number;
  places: readonly Place[];
  /** Advances time and lets everything happen in it. If absent, real time passes, and the test waits for the followers. */
  pass?: (ms: number) => Promise<void>;
}

const POD = { image: "host:/app", cpu: { id: "cpu3c", vcpuCount: 2 } };
const ENDPOINT = { image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }], workers: { min: 0, max: 1 } };
const FOLLOWERS = 3;

export async function walkEvents({ seed, steps, places, pass }: EventWalk): Promise<void> {
  const random = new SeededRandom(seed);
  const below = (count: number) => Buffer.from(random.bytes(4)).readUInt32LE() % count;
  const any = <T>(list: readonly T[]): T => list[below(list.length)]!;
  const call = async (method: string, path: string, body?: object): Promise<{ id: string } | undefined> => {
    const { url, key } = any(places);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const answer = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const text = await answer.text();
    return answer.ok && text ? JSON.parse(text) : undefined;
  };
  const made = { secrets: [] as string[], pods: [] as string[], endpoints: [] as string[], templates: [] as string[] };
  const make = async (ids: string[], path: string, body: object) => {
    const id = (await call("POST", path, body))?.id;
    if (id !== undefined) ids.push(id);
  };
  const take = (ids: string[]) => (ids.length === 0 ? undefined : ids.splice(below(ids.length), 1)[0]);
  let names = 0;
  const name = () => `n${seed}-${names++}`;
  const changes: (() => Promise<unknown>)[] = [
    () => make(made.secrets, "/v2/account/secrets", { name: `s${seed}_${names++}`, value: "v" }),
    async () => call("PATCH", `/v2/account/secrets/${any(made.secrets)}`, { value: "w" }),
    async () => call("DELETE", `/v2/account/secrets/${take(made.secrets)}`),
    () => make(made.pods, "/v2/pods", { name: name(), ...POD }),
    async () => call("POST", `/v2/pods/${any(made.pods)}/action`, { action: any(["stop", "start", "restart"]) }),
    async () => call("DELETE", `/v2/pods/${take(made.pods)}`),
    () => make(made.endpoints, "/v2/serverless", { name: name(), ...ENDPOINT }),
    async () => call("POST", `/v2/${any(made.endpoints)}/run`, { input: {} }),
    async () => call("DELETE", `/v2/serverless/${take(made.endpoints)}`),
    () => make(made.templates, "/v2/templates", { name: name(), image: "host:/app" }),
    async () => call("DELETE", `/v2/templates/${take(made.templates)}`),
  ];
  const followers = Array.from({ length: FOLLOWERS }, () => new EventFollower());
  for (const follower of followers) await follower.connect(any(places));
  for (let step = 0; step < steps; step++) {
    await Promise.all(Array.from({ length: 1 + below(4) }, () => any(changes)()));
    if (below(4) === 0) {
      const follower = any(followers);
      await follower.disconnect();
      if (below(2) === 0) await any(changes)();
      await follower.connect(any(places));
    }
    if (below(3) === 0) await pass?.(any([50, 300, 1000, 5000]));
  }
  // A change is noticed within one look at the latest. Pods settle meanwhile.
  for (let n = 0; n < 5; n++) await pass?.(5000);
  const lists = await readLists(places[0]!);
  expect(lists.size).toBeGreaterThan(0);
  for (const follower of followers) {
    // While they differ, some events are still to come.
    while (!pass && !isDeepStrictEqual(follower.fold, lists)) await follower.more();
    expect(follower.fold, `seed ${seed}`).toEqual(lists);
    await follower.disconnect();
  }
}
