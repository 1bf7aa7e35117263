/** Sends GraphQL as clients do, for tests. */
import type { Answer, CallOptions, World } from "./world.ts";

interface Asking extends Omit<CallOptions, "body"> {
  variables?: unknown;
  /** Further fields of the body, in addition to `query` and `variables`. */
  more?: object;
  path?: string;
}

/** Sends a document as clients do, and returns the whole answer. */
export function ask(
  world: Pick<World, "call">,
  query: string,
  { variables, more, path = "/graphql", ...options }: Asking = {},
): Promise<Answer> {
  return world.call("POST", path, {
    ...options,
    body: { query, ...(variables !== undefined && { variables }), ...more },
  });
}

/** Returns the data of an answer. The test fails if there are errors. */
export async function dataOf(world: Pick<World, "call">, query: string, asking: Asking = {}) {
  const { status, json, text } = await ask(world, query, asking);
  if (status !== 200 || "errors" in json) throw new Error(`answered with ${status}: ${text}`);
  return json.data;
}

/** Returns the first error of an answer that was executed. */
export async function errorOf(world: Pick<World, "call">, query: string, asking: Asking = {}) {
  const { status, json, text } = await ask(world, query, asking);
  if (status !== 200 || !json.errors) throw new Error(`answered with ${status}: ${text}`);
  return json.errors[0] as { message: string; path: string[]; extensions: Record<string, unknown> };
}
