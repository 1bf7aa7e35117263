/** Every refusal, named by what it means. Each surface maps these names to its own statuses and codes. */

import type { ReasonCode } from "./reason.ts";

/** What each name means, on every surface. The names are not those of HTTP statuses. */
export const meanings = {
  unreadable: "what was sent cannot be read at all",
  unstorable: "a text holds what no database can keep",
  invalid: "a field or a parameter is not what it has to be",
  "rule-broken": "each field would do, but not together, or not for this account or thing",
  "no-capacity": "nothing has room for it, or came free in time",
  unauthenticated: "nobody knows who asks",
  "not-allowed": "the caller may not do this",
  unpaid: "the account, or the key, has spent what it may",
  "over-quota": "the account has all that it may have",
  "not-found": "there is no such thing, or it belongs to somebody else",
  "name-taken": "something else has the name",
  conflicting: "it was said otherwise before",
  "wrong-state": "the thing is not in a state in which this can be done to it",
  "too-large": "what was sent is longer than may be",
  "no-room": "what was sent does not fit where it is to be kept",
  "too-much": "the caller asks too often, or for too much at once",
  "too-slow": "what was announced did not arrive in time",
  abandoned: "the client went away",
  unavailable: "it would be done at another time: something that it needs is away, full or ending",
  "no-answer": "what it was passed on to did not answer, or not with something that can be passed back",
  "late-answer": "what it was passed on to did not end in time",
  fault: "nobody foresaw it",
  // These occur only with HTTP.
  "wrong-method": "the path is there, and not with this method",
  "wrong-media-type": "the body is sent in a form that is not read",
  "outside-range": "the range that is asked for is not within the thing",
  "unmet-expectation": "the client expects something that nobody does",
  "long-headers": "the headers are longer than may be",
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
