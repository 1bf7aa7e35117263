/** An operation whose surface reads requests itself, as data. Its table mounts and describes it, but validates nothing. */
import type { Method } from "./operation.ts";
import type { TObject, TSchema } from "./schema.ts";
import type { Scope } from "./scope.ts";

/** One form of a body. */
export interface BodyForm {
  schema: TSchema;
  /** An example that can be sent, or that was received. */
  example?: unknown;
}

/** The forms of a body by media type. */
export type BodyForms = Readonly<Record<string, BodyForm>>;

export interface RawAnswer {
  description: string;
  /** Absent when there is no body. */
  content?: BodyForms;
  /** What each of its own headers means. */
  headers?: Readonly<Record<string, string>>;
}

export interface RawOperation {
  method: Method;
  /** Other methods that public clients send, and that mean the same. */
  alsoBy?: readonly Method[];
  /** Path with `{id}`-style parameters. A star at the end of the last one, as in `{path*}`, matches the rest of the path. */
  path: string;
  summary: string;
  description?: string;
  tag: string;
  query?: TObject;
  /** Request headers that change what it does. */
  headers?: TObject;
  body?: { content: BodyForms; required: boolean };
  answers: Readonly<Record<number, RawAnswer>>;
  /** Error statuses in addition to those that every operation of its surface can give. */
  refuses: readonly number[];
  /** Which key opens it: a caller's; a caller's or, for a signed link, none; or a worker's. */
  key: "caller" | "caller or link" | "worker";
  /** The scope that a caller's key must hold. */
  scope?: Scope;
  /** Set when callers of other accounts may use it too, for their own jobs on an endpoint that is shared with them. */
  guests?: true;
  /** Set when it changes the account rather than one job. The audit log then records it. */
  audited?: true;
}

export type RawOperations = Record<string, RawOperation>;

const JSON_MEDIA = "application/json";
export const EVENT_MEDIA = "text/event-stream";

export const inJson = (schema: TSchema, example?: unknown): BodyForms => ({ [JSON_MEDIA]: { schema, example } });

/** Returns all methods by which it can be called. */
export const methodsOf = ({ method, alsoBy = [] }: Pick<RawOperation, "method" | "alsoBy">): readonly Method[] => [
  method,
  ...alsoBy,
];
