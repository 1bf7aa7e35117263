/** An operation as data: surfaces mount lists of these and contain no rules. */
import type { Caller } from "./caller.ts";
import type { EventBlock } from "./event-block.ts";
import type { Meaning } from "./problem.ts";
import type { Static, TObject, TSchema } from "./schema.ts";
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
  /** What the audit log calls what it is done to, where its path has another word for that. */
  resource?: string;
  /** Body schema; an operation without one takes no body. */
  in?: TSchema;
  /** Query schema, an object of scalars; values arrive as text and are read by their declared type. */
  query?: TObject;
  out?: TSchema;
  /** Data of one event, for an operation that answers with server-sent events until somebody ends it. */
  events?: TSchema;
  status: number;
  /** The status of an answer without a body, where there is not always one. */
  emptyStatus?: 204;
  scope: Scope;
  /** Any one of these will do in its place: what it shows depends on what the key may read. */
  orAnyOf?: readonly Scope[];
  /** A second one that it needs besides, where what it does is of consequence to another resource. */
  alsoNeeds?: Scope;
  /**
   * What a key that is narrowed to endpoints may do with it: nothing, where it reads or changes what belongs to the account as a whole;
   * or its own part, which the service sees to.
   */
  narrowed: "refused" | "own";
  /** Whom it is for, where holding the scope is not all that is asked for. */
  who?: "installation";
  /** Whether a Pod may do it to itself, with the key that it was given. */
  byPod?: boolean;
  /** What it refuses beyond what follows from its shape, by `refusalsOf`. */
  refuses?: readonly Meaning[];
  bodyLimit?: number;
  /** Whether no body at all says as much as an empty object. */
  isBodyOptional?: boolean;
}

export type Operations = Record<string, Operation>;

/** One call of an operation, after everything about it has been checked. */
export type Call<O extends Operation = Operation> = {
  caller: Caller;
  params: Record<string, string>;
  query: O extends { query: infer Q extends TObject } ? Static<Q> : Record<never, never>;
  body: O extends { in: infer B extends TSchema } ? Static<B> : undefined;
} & (O extends { events: TSchema } ? Following : unknown);

export interface Following {
  /** `Last-Event-ID`: the event after which to go on. */
  lastEventId: string | undefined;
  /** Aborts when the client has gone, or when the server is about to end. */
  gone: AbortSignal;
}

type Answer<O extends Operation> = O extends { events: infer E extends TSchema }
  ? Promise<AsyncIterable<EventBlock<Static<E>>>>
  : O extends { out: infer R extends TSchema }
    ? Promise<Static<R> | (O extends { emptyStatus: number } ? undefined : never)>
    : Promise<void>;

/** Each operation is answered by the handler of its name: a projection of what a service does. */
export type Handlers<Ops extends Operations> = {
  [Name in keyof Ops]: (call: Call<Ops[Name]>) => Answer<Ops[Name]>;
};

export const KIB = 1024;
export const MIB = 1024 * 1024;
export const DEFAULT_BODY_LIMIT = MIB;

/** Every scope that it takes to use an operation. */
export function scopesOf({ scope, alsoNeeds }: Pick<Operation, "scope" | "alsoNeeds">): Scope[] {
  return alsoNeeds === undefined ? [scope] : [scope, alsoNeeds];
}

/** Names of the `{parameters}` in a path. */
export function pathParameters(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
}

/** Whatever is asked for. */
const ALWAYS: readonly Meaning[] = ["unauthenticated", "not-allowed", "wrong-method", "too-much"];
const OF_A_BODY: readonly Meaning[] = ["unreadable", "rule-broken", "too-large", "wrong-media-type", "invalid"];

/** Every meaning with which an operation can be refused: what a body, a query and a name in the path bring along, and its own. */
export function refusalsOf({ in: body, query, path, refuses = [] }: Operation): Meaning[] {
  const ofItsShape: Meaning[] = [
    ...(body ? OF_A_BODY : []),
    ...(query ? (["invalid"] as const) : []),
    ...(pathParameters(path).length > 0 ? (["not-found"] as const) : []),
  ];
  return [...new Set([...ALWAYS, ...ofItsShape, ...refuses])];
}
