/** An operation as data: surfaces mount lists of these and contain no rules. */

import type { TObject, TSchema } from "./schema.ts";
import type { Scope } from "./scope.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface Operation {
  method: Method;
  /** Path with `{id}`-style parameters. */
  path: string;
  /** One line for people, shown in the OpenAPI document. */
  summary: string;
  description?: string;
  tag: string;
  /** Body schema; an operation without one takes no body. */
  in?: TSchema;
  /** Query schema, an object of scalars; values arrive as text and are read by their declared type. */
  query?: TObject;
  out?: TSchema;
  status: number;
  scope: Scope;
  /** Error statuses beyond those that every operation can give. */
  refuses: readonly number[];
  bodyLimit?: number;
}

export type Operations = Record<string, Operation>;

export const KIB = 1024;
export const MIB = 1024 * 1024;
export const DEFAULT_BODY_LIMIT = MIB;

/** Names of the `{parameters}` in a path. */
export function pathParameters(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
}
