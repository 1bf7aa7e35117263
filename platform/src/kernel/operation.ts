/** An operation as data. Surfaces mount lists of operations and contain no rules. */
import type { IncomingBytes, OutgoingBytes, OutgoingText } from "./bytes.ts";
import type { Caller } from "./caller.ts";
import type { EventBlock } from "./event-block.ts";
import type { JsonText } from "./json-text.ts";
import type { Meaning } from "./problem.ts";
import type { Static, TObject, TSchema } from "./schema.ts";
import type { Scope } from "./scope.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface Operation {
  method: Method;
  /** Path with `{id}`-style parameters. */
  path: string;
  /** One line for people. The OpenAPI document shows it. */
  summary: string;
  description?: string;
  tag: string;
  /** The word that the audit log uses for the resource, if the path has another word for it. */
  resource?: string;
  /** Body schema; an operation without one takes no body. */
  in?: TSchema;
  /** Query schema, an object of scalars. Values arrive as text and are read by their declared type. */
  query?: TObject;
  out?: TSchema;
  /** The schema of one event's data, for an operation that answers with server-sent events until one side ends them. */
  events?: TSchema;
  /** Whether its body or its answer is bytes as they are, of any length, and not JSON. */
  bytes?: "in" | "out";
  /** The media types of an answer that is text of any length, and what each holds. It is sent while it is made. */
  texts?: Readonly<Record<string, TSchema>>;
  /** Whether it changes something outside of the store. Its handler then says when it begins, for the audit log. */
  isOutside?: true;
  /** Whether its handler may answer with JSON text that it has kept, in place of the value itself. */
  mayBeText?: true;
  status: number;
  /** The status of a response without a body, for an operation that has a body only sometimes. */
  emptyStatus?: 204;
  /** The scope that the caller must hold. It is absent if `who` decides alone. */
  scope?: Scope;
  /** Any one of these scopes will do instead of `scope`. What the operation shows then depends on what the key may read. */
  orAnyOf?: readonly Scope[];
  /** A second scope that is needed too, when the operation affects another resource. */
  alsoNeeds?: Scope;
  /**
   * What a key narrowed to endpoints may do with it. "refused" is for operations on things that belong to the account as a whole; with
   * "own" the service limits the key to its own part.
   */
  narrowed: "refused" | "own";
  /** Who may use it, if the scope alone is not enough, or if it needs none. */
  who?: Who;
  /** It starts or ends the session of a browser: its handler learns about the browser and sets the cookie. */
  isOfBrowser?: true;
  /** Whether a Pod may do this to itself, with the key that Millrace gave it. */
  byPod?: boolean;
  /** Refusals in addition to those that follow from its shape (see `refusalsOf`). */
  refuses?: readonly Meaning[];
  bodyLimit?: number;
  /** Whether a missing body means the same as an empty object. */
  isBodyOptional?: boolean;
}

/** `caller`: every key and every person, whatever their scopes. `person`: people, about themselves. `anybody`: even without a key. */
export type Who = "installation" | "caller" | "person" | "anybody";

export type Operations = Record<string, Operation>;

/** One call of an operation, after all checks have passed. */
export type Call<O extends Operation = Operation> = {
  caller: Caller;
  params: Record<string, string>;
  query: O extends { query: infer Q extends TObject } ? Static<Q> : Record<never, never>;
  body: O extends { in: infer B extends TSchema } ? Static<B> : undefined;
} & (O extends { events: TSchema } ? Following : unknown) &
  (O extends { isOfBrowser: true } ? { browser: Browser } : unknown) &
  (O extends { bytes: "in" } ? { incoming: IncomingBytes } : unknown) &
  (O extends { isOutside: true } ? Beginning : unknown);

export interface Beginning {
  /** Puts on record that the work begins. Called before anything is changed, and after what is missing was refused. */
  begin(): Promise<void>;
}

/** The browser that a request comes from. */
export interface Browser {
  address: string | undefined;
  userAgent: string | undefined;
  /** The secret in the session cookie that it sent. */
  session: string | undefined;
  /** Why it would not keep a session cookie; undefined if it would. */
  hindrance: string | undefined;
  /** The origin of the page that asks, if the request says so. */
  origin: string | undefined;
  /** The secret that it got when it began to sign in at the identity provider. */
  pending: string | undefined;
  /** Tells it to keep such a secret for this long. */
  await(pending: { secret: string; forS: number }): void;
  /** Tells it to keep this secret for this long, or to forget the one that it has. */
  keep(session: { secret: string; forS: number } | undefined): void;
}

export interface Following {
  /** `Last-Event-ID`: the stream continues after this event. */
  lastEventId: string | undefined;
  /** Aborts when the client has gone, or when the server is about to shut down. */
  gone: AbortSignal;
}

type Answer<O extends Operation> = O extends { events: infer E extends TSchema }
  ? Promise<AsyncIterable<EventBlock<Static<E>>>>
  : O extends { bytes: "out" }
    ? Promise<OutgoingBytes>
    : O extends { texts: object }
      ? Promise<OutgoingText>
      : O extends { out: infer R extends TSchema }
        ? Promise<
            | Static<R>
            | (O extends { emptyStatus: number } ? undefined : never)
            | (O extends { mayBeText: true } ? JsonText : never)
          >
        : Promise<void>;

/** Each operation is answered by the handler of the same name, which calls a service. */
export type Handlers<Ops extends Operations> = {
  [Name in keyof Ops]: (call: Call<Ops[Name]>) => Answer<Ops[Name]>;
};

export const KIB = 1024;
export const MIB = 1024 * 1024;
export const DEFAULT_BODY_LIMIT = MIB;

/** Returns every scope that a caller needs to use an operation. */
export function scopesOf({ scope, alsoNeeds }: Pick<Operation, "scope" | "alsoNeeds">): Scope[] {
  return [scope, alsoNeeds].filter((needed) => needed !== undefined);
}

/** Returns the names of the `{parameters}` in a path. */
export function pathParameters(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
}

/** Refusals that every operation can give. */
const ALWAYS: readonly Meaning[] = ["unauthenticated", "not-allowed", "wrong-method", "too-much"];
const OF_A_BODY: readonly Meaning[] = ["unreadable", "rule-broken", "too-large", "wrong-media-type", "invalid"];
const OF_BYTES: Record<"in" | "out", readonly Meaning[]> = {
  in: ["too-large", "no-room"],
  out: ["conflicting", "outside-range"],
};

/** Returns every meaning with which an operation can refuse: those of its body, its query and its path parameters, and its own. */
export function refusalsOf({ in: body, bytes, query, path, refuses = [], who }: Operation): Meaning[] {
  const ofItsShape: Meaning[] = [
    ...(body ? OF_A_BODY : []),
    ...(bytes ? OF_BYTES[bytes] : []),
    ...(query ? (["invalid"] as const) : []),
    ...(pathParameters(path).length > 0 ? (["not-found"] as const) : []),
  ];
  const always = who === "anybody" ? ALWAYS.filter((meaning) => meaning !== "unauthenticated") : ALWAYS;
  return [...new Set([...always, ...ofItsShape, ...refuses])];
}
