/** Everything acknowledged must exist at the end, and everything removed must not. */
import { isDeepStrictEqual } from "node:util";
import { call } from "../../world.ts";
import { type Draft, sentAs } from "./draft.ts";
import type { Outcome } from "./exchange.ts";
import type { Person } from "./population.ts";
import { isMadeBy, type Named, type Thing, thingNames, things } from "./routes.ts";

const MOST_REMEMBERED = 200;
/** Things that are read one by one and that only a DELETE removes. A Pod can also end by an action or by itself. */
const ASKED: readonly Thing[] = ["endpoint", "secret", "registry", "template", "volume"];

type Made = { id?: string; type?: string; requestIds?: string[] };

/** Records the effect of an answered request. */
export function note(draft: Draft, outcome: Outcome, removed: Set<string>): void {
  forget(draft, outcome, removed);
  if (outcome.kind !== "answered" || outcome.answer.status > 299 || !outcome.answer.isWhole) return;
  const { person, route, params, changes } = draft;
  if (
    draft.raw ||
    draft.path !== undefined ||
    draft.method !== route.method ||
    changes.includes("a parameter of the path")
  )
    return;
  const made = recordIn(outcome.answer.text);
  const add = (named: Named, id: string | undefined) => {
    if (id) remember(person.owns[named], id);
  };
  for (const named of thingNames)
    if (isMadeBy(named, route.name)) person.owns[named].push(...(made.id ? [made.id] : []));
  if (made.id && made.type === "LOAD_BALANCER") person.balanced.add(made.id);
  if (route.path === "/v2/{endpoint_id}/run" && params.endpoint_id === person.kept.endpoint) keep(draft, made.id);
  else if (/\/(run|runsync)$/.test(route.path)) add("job", made.id && `${made.id}@${params.endpoint_id}`);
  if (route.path === "/v2/{endpoint_id}/batch" && route.method === "POST") {
    add("batch", made.id && `${made.id}@${params.endpoint_id}`);
    for (const id of made.requestIds ?? []) add("request", `${id}@${params.endpoint_id}`);
  }
}

/** Leaves out jobs whose terms were changed, since those may have asked for an early end. */
function keep({ person, changes }: Draft, id: string | undefined): void {
  if (id && !changes.some((change) => /value|JSON|body/.test(change))) person.kept.jobs.add(id);
}

/** Unless a removal was clearly refused, nobody knows whether it happened. The things it names are not checked any more. */
function forget(draft: Draft, outcome: Outcome, removed: Set<string>): void {
  const { person, route } = draft;
  const { methods, target } = sentAs(draft);
  const isRemoval = [...methods, route.method].includes("DELETE");
  // When several requests are sent at once, only the first answer is known.
  const isRefused = !draft.raw && outcome.kind === "answered" && /^4/.test(`${outcome.answer.status}`);
  if (!isRemoval || isRefused) return;
  for (const named of thingNames) {
    for (const id of person.owns[named].filter((id) => target.includes(id))) {
      person.owns[named].splice(person.owns[named].indexOf(id), 1);
      const isSure = outcome.kind === "answered" && outcome.answer.status === 204 && ASKED.includes(named);
      if (isSure) removed.add(`${things[named].path}/${id}`);
    }
  }
}

function recordIn(text: string): Made {
  try {
    return (JSON.parse(text) as Made) ?? {};
  } catch {
    return {};
  }
}

function remember(ids: string[], id: string): void {
  if (!ids.includes(id)) ids.push(id);
  if (ids.length > MOST_REMEMBERED) ids.shift();
}

/** Describes everything that is not as it was acknowledged. */
export async function losses(url: string, person: Person, removed: Set<string>): Promise<string[]> {
  const { owns, kept, key } = person;
  const ask = (path: string) => call(url, "GET", path, { key });
  const lost: string[] = [];
  const expect = async (path: string, status: number) => {
    const answer = await ask(path);
    if (answer.status !== status) lost.push(`${path} is answered with ${answer.status}, not ${status}`);
    return answer.json;
  };
  for (const [path, record] of kept.records)
    if (!isDeepStrictEqual(await expect(path, 200), record)) lost.push(`${path} is not as it was`);
  for (const named of ASKED) for (const id of owns[named]) await expect(`${things[named].path}/${id}`, 200);
  for (const path of removed) await expect(path, 404);
  const { apiKeys } = (await ask("/v2/account/api-keys")).json as { apiKeys: { id: string }[] };
  for (const id of [kept.apiKey, ...owns.apiKey])
    if (!apiKeys.some((known) => known.id === id)) lost.push("an API key is gone");
  for (const id of kept.jobs) {
    const job = await expect(`/v2/${kept.endpoint}/status/${id}`, 200);
    if (job?.status !== "IN_QUEUE") lost.push(`job ${id} is ${job?.status}`);
  }
  return lost;
}
