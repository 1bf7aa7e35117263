/** Writes the tables of lifecycles into the documentation. A test fails if this was forgotten. */
import { readFileSync, writeFileSync } from "node:fs";
import { lifecycles } from "../platform/src/contract.ts";
import type { Lifecycle } from "../platform/src/kernel/lifecycle.ts";

type Life = Lifecycle<string, string>;

const lives = Object.values(lifecycles) as unknown as Life[];

/** The names as inline code, or an empty text. */
const words = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(", ");

const row = (...cells: string[]) => `| ${cells.join(" | ")} |`;

const stateTable = ({ states, meanings, actions }: Life) => [
  row("State", "What it means", "What a caller may do"),
  row("---", "---", "---"),
  ...states.map((state) => row(words([state]), meanings[state]!, words(actions(state)))),
];

const moveTable = ({ moves }: Life) => [
  row("Move", "From", "To", "Who"),
  row("---", "---", "---", "---"),
  ...Object.entries(moves).map(([name, { from, to, asked }]) =>
    row(words([name]), words(from), words([to]), asked ? `a key with ${words([asked])}` : "Millrace"),
  ),
];

const titleOf = ({ of }: Life) => `## ${of[0]!.toUpperCase()}${of.slice(1)}`;

const chapter = (life: Life) =>
  [
    titleOf(life),
    "",
    `It begins as ${life.begins.map((state) => words([state])).join(" or ")}.`,
    "",
    ...stateTable(life),
    "",
    ...moveTable(life),
  ].join("\n");

const drawn = (picture: string, life: Life) =>
  [`![The states of a ${life.of}, and the moves between them](images/${picture})`, "", ...stateTable(life)].join("\n");

/** The moves of a lifecycle, as its picture names them. A test compares both. */
export const movesOf = (life: Life): string[] =>
  Object.entries(life.moves).flatMap(([name, { from, to }]) => from.map((state) => `${name}: ${state} ${to}`));

export const { jobs, workers, pods } = lifecycles as unknown as Record<keyof typeof lifecycles, Life>;

/** The text between the marks of each document. */
export const shown: Record<string, string> = {
  "docs/jobs.md": drawn("job.svg", jobs),
  "docs/workers.md": drawn("worker.svg", workers),
  "docs/pods.md": stateTable(pods).join("\n"),
  "docs/lifecycles.md": lives.map(chapter).join("\n\n"),
};

const MARKED = /<!-- lifecycle -->[\s\S]*<!-- end of lifecycle -->/;

export function withLifecycle(text: string, said: string): string {
  if (!MARKED.test(text)) throw new Error("the document has no place for a lifecycle");
  return text.replace(MARKED, () => `<!-- lifecycle -->\n\n${said}\n\n<!-- end of lifecycle -->`);
}

if (import.meta.main) {
  for (const [path, said] of Object.entries(shown)) {
    const file = new URL(`../${path}`, import.meta.url);
    writeFileSync(file, withLifecycle(readFileSync(file, "utf8"), said));
  }
}
