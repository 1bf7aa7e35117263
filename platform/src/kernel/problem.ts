/** Every refusal, named by what it means. Each surface maps these names to its own statuses and codes. */

import type { ReasonCode } from "./reason.ts";

/** What each name means, on every surface. The names are not those of HTTP statuses. */
export const meanings = {
  unreadable: "the request cannot be read at all",
  unstorable: "a text contains a character that no database can store",
  invalid: "a field or a parameter has a wrong value",
  "rule-broken": "each field is valid, but they contradict each other, the account or the resource",
  "no-capacity": "nothing has room for it, or became free in time",
  unauthenticated: "the request has no valid credentials",
  "not-allowed": "the caller may not do this",
  unpaid: "the account or the key has reached its spend limit",
  "over-quota": "the account has reached a quota",
  "not-found": "it does not exist, or belongs to another account",
  "name-taken": "another resource has the name",
  conflicting: "the same key was sent before with other content",
  "wrong-state": "the resource is in a state that does not allow this",
  "too-large": "the request is longer than allowed",
  "no-room": "the content does not fit where it should be stored",
  "too-much": "the caller sends too many requests, or asks for too much at once",
  "too-slow": "the body did not arrive in time",
  abandoned: "the client closed the connection",
  unavailable: "something that it needs is unreachable, full or shutting down",
  "no-answer": "the program behind the address did not answer properly",
  "late-answer": "the program behind the address did not answer in time",
  fault: "the server failed in an unexpected way",
  // These occur only with HTTP.
  "wrong-method": "the path exists, but not with this method",
  "wrong-media-type": "the operation does not read bodies of this type",
  "outside-range": "the range is outside the content",
  "unmet-expectation": "the server does not support the `Expect` header that was sent",
  "long-headers": "the headers are longer than allowed",
} as const satisfies Record<string, string>;

export type Meaning = keyof typeof meanings;

interface Extras {
  /** One entry per validation failure, shaped `<json path>: <message>`. */
  errors?: string[];
  /** How long to wait before trying again, if trying again makes sense. */
  retryAfterS?: number | undefined;
  /** Extra headers that a surface or one of its guards sends. */
  headers?: Record<string, string>;
  /** A fixed text that clients compare, on surfaces that have a field for it. The detail then says why. */
  word?: string;
  /** Says more than the meaning does. Programs decide by its code. */
  reason?: ReasonCode;
  cause?: unknown;
}

export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: Meaning;
  readonly errors: string[] | undefined;
  readonly retryAfterS: number | undefined;
  readonly headers: Record<string, string>;
  readonly word: string | undefined;
  /** The code of the reason, which every surface shows beside its text. */
  readonly reason: ReasonCode;

  constructor(code: Meaning, detail: string, extras: Extras = {}) {
    super(detail, { cause: extras.cause });
    this.code = code;
    this.errors = extras.errors;
    this.retryAfterS = extras.retryAfterS;
    this.headers = extras.headers ?? {};
    this.word = extras.word;
    this.reason = extras.reason ?? code;
  }

  get detail(): string {
    return this.message;
  }
}

/** Use it as `throw problem("wrong-state", "cannot retry while COMPLETED")`. */
export function problem(code: Meaning, detail: string, extras?: Extras): Problem {
  return new Problem(code, detail, extras);
}

export function isProblem(error: unknown, code?: Meaning): error is Problem {
  return error instanceof Problem && (code === undefined || error.code === code);
}

/** True when this process or the machine has as many open files and connections as it may have. */
export function isOutOfDescriptors(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  return code === "EMFILE" || code === "ENFILE" || (cause !== undefined && isOutOfDescriptors(cause));
}

/** This passes by itself: nothing was done, and the caller should try again. */
export function outOfDescriptors(cause: unknown): Problem {
  const why = "The server has as many files and connections open as this machine allows it";
  return problem("unavailable", `${why}; try again in a moment.`, {
    cause,
    retryAfterS: 1,
    reason: "out-of-connections",
  });
}
