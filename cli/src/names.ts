/** Lets people say the name of a thing where the API takes its id. */
import type { ApiClient, Called } from "./api.ts";
import { Failure, Refusal } from "./failure.ts";

interface Named {
  id: string;
  name?: string | null;
  email?: string | null;
}

/** No account has more of one kind than so many pages. */
const MOST_PAGES = 100;

/** All records of a list, page by page, up to `limit`. */
export async function listed(
  api: ApiClient,
  list: Called,
  { params, query = {}, limit = Infinity }: { params?: Record<string, string>; query?: object; limit?: number } = {},
): Promise<Record<string, unknown>> {
  let all: Record<string, unknown> | undefined;
  let key = "";
  for (let page = 0, cursor: unknown; page < MOST_PAGES; page++) {
    const answer = (await api.call(list, { params, query: { ...query, cursor } })) as Record<string, unknown>;
    key ||= listKeyOf(answer);
    const before = (all?.[key] as unknown[] | undefined) ?? [];
    const { pagination, ...rest } = answer;
    all = { ...rest, [key]: [...before, ...(answer[key] as unknown[])] };
    cursor = (pagination as { nextCursor?: string | null } | undefined)?.nextCursor;
    if (!cursor || (all[key] as unknown[]).length >= limit) break;
  }
  return { ...all, [key]: (all![key] as unknown[]).slice(0, limit) };
}

/** The key of the records in an answer that lists them. */
const listKeyOf = (answer: Record<string, unknown>) =>
  Object.keys(answer).find((name) => Array.isArray(answer[name])) ?? "";

/** Does the work with what was given, and if there is no such id, with the id of the thing of that name. */
export async function byIdOrName<T>(
  api: ApiClient,
  list: Called | undefined,
  given: string,
  work: (id: string) => Promise<T>,
): Promise<T> {
  try {
    return await work(given);
  } catch (error) {
    if (!list || !(error instanceof Refusal) || error.status !== 404) throw error;
    // A key that may not list still learns why the id was refused.
    const id = await idByName(api, list, given).catch((failure: Failure) => {
      throw failure instanceof Refusal ? error : failure;
    });
    if (id === undefined || id === given) throw error;
    return await work(id);
  }
}

async function idByName(api: ApiClient, list: Called, name: string): Promise<string | undefined> {
  const answer = await listed(api, list);
  const named = (answer[listKeyOf(answer)] as Named[]).filter((one) => one.name === name || one.email === name);
  if (named.length < 2) return named[0]?.id;
  throw new Failure(`several have the name '${name}': say the id, one of ${named.map(({ id }) => id).join(", ")}`);
}
