/** Everything that can be refused, in one table: surfaces decide how a problem looks, never what it is. */

const table = {
  malformed: { status: 400, title: "Bad Request" },
  "rule-broken": { status: 400, title: "Bad Request" },
  unauthenticated: { status: 401, title: "Unauthorized" },
  forbidden: { status: 403, title: "Forbidden" },
  "not-found": { status: 404, title: "Not Found" },
  "method-not-allowed": { status: 405, title: "Method Not Allowed" },
  "request-timeout": { status: 408, title: "Request Timeout" },
  "name-taken": { status: 409, title: "Conflict" },
  "wrong-state": { status: 409, title: "Conflict" },
  retired: { status: 410, title: "Gone" },
  "too-large": { status: 413, title: "Payload Too Large" },
  "unsupported-media-type": { status: 415, title: "Unsupported Media Type" },
  "range-not-satisfiable": { status: 416, title: "Range Not Satisfiable" },
  "expectation-failed": { status: 417, title: "Expectation Failed" },
  invalid: { status: 422, title: "Unprocessable Entity" },
  "rate-limited": { status: 429, title: "Too Many Requests" },
  "headers-too-large": { status: 431, title: "Request Header Fields Too Large" },
  internal: { status: 500, title: "Internal Server Error" },
  "bad-gateway": { status: 502, title: "Bad Gateway" },
  unavailable: { status: 503, title: "Service Unavailable" },
  "gateway-timeout": { status: 504, title: "Gateway Timeout" },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof table;

interface Extras {
  /** One entry per validation failure, shaped `<json path>: <message>`. */
  errors?: string[];
  headers?: Record<string, string>;
  /** A fixed text that clients compare, where the surface has a place for it; the detail then says why. */
  word?: string;
  cause?: unknown;
}

export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: ProblemCode;
  readonly status: number;
  readonly title: string;
  readonly errors: string[] | undefined;
  readonly headers: Record<string, string>;
  readonly word: string | undefined;

  constructor(code: ProblemCode, detail: string, extras: Extras = {}) {
    super(detail, { cause: extras.cause });
    this.code = code;
    this.status = table[code].status;
    this.title = table[code].title;
    this.errors = extras.errors;
    this.headers = extras.headers ?? {};
    this.word = extras.word;
  }

  get detail(): string {
    return this.message;
  }
}

/** Written `throw problem("wrong-state", "cannot retry while COMPLETED")`. */
export function problem(code: ProblemCode, detail: string, extras?: Extras): Problem {
  return new Problem(code, detail, extras);
}

export function isProblem(error: unknown, code?: ProblemCode): error is Problem {
  return error instanceof Problem && (code === undefined || error.code === code);
}

/** Whether this process, or the machine, has as many files and connections open as it may. */
export function isOutOfDescriptors(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  return code === "EMFILE" || code === "ENFILE" || (cause !== undefined && isOutOfDescriptors(cause));
}

/** It passes by itself: nothing was done, and trying again is right. */
export function outOfDescriptors(cause: unknown): Problem {
  const why = "The server has as many files and connections open as this machine allows it";
  return problem("unavailable", `${why}; try again in a moment.`, { cause, headers: { "Retry-After": "1" } });
}
