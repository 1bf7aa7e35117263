/** An operation whose surface reads requests itself, as data: what mounts it also describes it, and nothing is validated by it on its way. */
import type { Method } from "./operation.ts";
import type { TObject, TSchema } from "./schema.ts";
import type { Scope } from "./scope.ts";

/** One form of a body. */
export interface BodyForm {
  schema: TSchema;
  /** One that can be sent, or was answered. */
  example?: unknown;
}

/** By media type. */
export type BodyForms = Readonly<Record<string, BodyForm>>;

export interface RawAnswer {
  description: string;
  /** Absent where there is no body. */
  content?: BodyForms;
  /** What its own headers say. */
  headers?: Readonly<Record<string, string>>;
}

export interface RawOperation {
  method: Method;
  /** Methods that public clients send instead, and that mean the same. */
  alsoBy?: readonly Method[];
  /** Path with `{id}`-style parameters; a last one with a star, as in `{path*}`, takes all that is left. */
  path: string;
  summary: string;
  description?: string;
  tag: string;
  query?: TObject;
  /** Request headers that change what is done. */
  headers?: TObject;
  body?: { content: BodyForms; required: boolean };
  answers: Readonly<Record<number, RawAnswer>>;
  /** Error statuses beyond those that every operation of its surface can give. */
  refuses: readonly number[];
  /** Which key opens it: a caller's; a caller's, or none for a link that was signed; or that of a worker. */
  key: "caller" | "caller or link" | "worker";
  /** What a caller's key must hold. */
  scope?: Scope;
  /** A change of the account, and not of one job: it is in the audit log. */
  audited?: true;
}

export type RawOperations = Record<string, RawOperation>;

const JSON_MEDIA = "application/json";
export const EVENT_MEDIA = "text/event-stream";

export const inJson = (schema: TSchema, example?: unknown): BodyForms => ({ [JSON_MEDIA]: { schema, example } });

/** All methods that it is asked by. */
export const methodsOf = ({ method, alsoBy = [] }: Pick<RawOperation, "method" | "alsoBy">): readonly Method[] => [
  method,
  ...alsoBy,
];
