/** Terminals in Pods and workers: the request for one, and the ticket in the answer. */
import { closed, dateTime, type Static, t } from "../../kernel/schema.ts";

/** The defaults for terminals. */
export const DEFAULT_SIZE = { cols: 80, rows: 24 };
export const DEFAULT_TERM = "xterm-256color";

/** No screen has more columns or rows than this. */
const LARGEST = 1000;
const MOST_WORDS = 1000;
const LONGEST_WORD = 131_072;

const size = (description: string, value: number) =>
  t.Optional(t.Integer({ minimum: 1, maximum: LARGEST, default: value, description }));

export const TerminalRequest = closed(
  {
    command: t.Optional(
      t.Array(t.String({ maxLength: LONGEST_WORD }), {
        minItems: 1,
        maxItems: MOST_WORDS,
        description: "The program and its arguments; by default a shell, `bash` where there is one, else `sh`.",
      }),
    ),
    tty: t.Optional(
      t.Boolean({
        default: true,
        description:
          "Whether the program has a terminal. Without one its input and output are bytes as they are, and its errors come apart.",
      }),
    ),
    cols: size("Columns of the terminal.", DEFAULT_SIZE.cols),
    rows: size("Rows of the terminal.", DEFAULT_SIZE.rows),
    term: t.Optional(
      t.String({
        pattern: "^[\\w.+-]+$",
        maxLength: 64,
        default: DEFAULT_TERM,
        description: "The terminal's type, as `TERM` has it.",
      }),
    ),
  },
  { $id: "CreateTerminalRequest" },
);
export type TerminalRequest = Static<typeof TerminalRequest>;

export const Terminal = t.Object(
  {
    url: t.String({ description: "Where to connect by WebSocket, without any other credential." }),
    ticket: t.String({ description: "The last part of `url`. It works once." }),
    expiresAt: dateTime("Until when it can be used to connect."),
  },
  { $id: "Terminal" },
);

/** A message that a client sends in a text frame. */
export const TerminalMessage = t.Union([
  closed({
    type: t.Literal("resize"),
    cols: t.Integer({ minimum: 1, maximum: LARGEST }),
    rows: t.Integer({ minimum: 1, maximum: LARGEST }),
  }),
  closed({ type: t.Literal("end") }),
]);
export type TerminalMessage = Static<typeof TerminalMessage>;
