/** How a command fails: each failure has an exit status, and says what happened and what to do next. */

/** The exit statuses of every verb. docs/cli.md lists them. */
export const EXIT = {
  failed: 1,
  wrongUse: 2,
  notFound: 3,
  refused: 4,
  waited: 5,
  interrupted: 130,
  unread: 141,
} as const;

interface More {
  /** Lines below the message, such as one for each field that is wrong. */
  errors?: readonly string[] | undefined;
  cause?: unknown;
}

export class Failure extends Error {
  readonly exitCode: number;
  readonly errors: readonly string[];

  constructor(message: string, exitCode: number = EXIT.failed, { errors = [], cause }: More = {}) {
    super(message, { cause });
    this.exitCode = exitCode;
    this.errors = errors;
  }
}

export const wrongUse = (message: string, more?: More) => new Failure(message, EXIT.wrongUse, more);

/** The server refused a request. */
export class Refusal extends Failure {
  readonly status: number;
  /** The stable code of the reason, where the server gave one. */
  readonly code: string | undefined;

  constructor(message: string, { status, code, ...more }: More & { status: number; code: string | undefined }) {
    super(message, EXIT_OF_STATUS[status] ?? EXIT.failed, more);
    this.status = status;
    this.code = code;
  }
}

const EXIT_OF_STATUS: Record<number, number> = {
  401: EXIT.refused,
  403: EXIT.refused,
  404: EXIT.notFound,
  408: EXIT.waited,
  504: EXIT.waited,
};
