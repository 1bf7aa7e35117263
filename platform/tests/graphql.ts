/** GraphQL as clients send it, for tests. */
import type { Answer, CallOptions, World } from "./world.ts";

interface Asking extends Omit<CallOptions, "body"> {
  variables?: unknown;
  /** Beside `query` and `variables`. */
  more?: object;
  path?: string;
}

/** A document, sent as clients do; the whole answer. */
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

/** The data of an answer without errors; anything else fails the test. */
export async function dataOf(world: Pick<World, "call">, query: string, asking: Asking = {}) {
  const { status, json, text } = await ask(world, query, asking);
  if (status !== 200 || "errors" in json) throw new Error(`answered with ${status}: ${text}`);
  return json.data;
}

/** The first error of an answer that was executed. */
export async function errorOf(world: Pick<World, "call">, query: string, asking: Asking = {}) {
  const { status, json, text } = await ask(world, query, asking);
  if (status !== 200 || !json.errors) throw new Error(`answered with ${status}: ${text}`);
  return json.errors[0] as { message: string; path: string[]; extensions: Record<string, unknown> };
}
