/** Writes into the documents of the older surfaces which parts of REST v2 each cannot express. A test fails if this was forgotten. */
import { readFileSync, writeFileSync } from "node:fs";
import { type Unsayable, unsayable } from "../platform/src/resources/unsayable.ts";

const MARKED = /(<!-- unsayable -->\n)[\s\S]*?(<!-- end of unsayable -->)/;

/** The surface of each document. */
export const unsayableIn = { "docs/rest-v1.md": "restV1", "docs/graphql.md": "graphql" } as const satisfies Record<
  string,
  keyof Unsayable
>;

type Surface = (typeof unsayableIn)[keyof typeof unsayableIn];

function table(surface: Surface): string {
  const rows = unsayable.flatMap(({ resource, field, values, [surface]: says }) =>
    says === null ? [] : [`| ${resource} | \`${field}\`${values === undefined ? "" : `: ${values}`} | ${says} |`],
  );
  return ["| Of | In REST v2 | Here |", "|---|---|---|", ...rows, ""].join("\n");
}

export function withUnsayable(text: string, surface: Surface): string {
  if (!MARKED.test(text)) throw new Error("a document has no place for what its surface cannot say");
  return text.replace(MARKED, (_all, begin, end) => `${begin}\n${table(surface)}\n${end}`);
}

if (import.meta.main) {
  for (const [path, surface] of Object.entries(unsayableIn)) {
    const file = new URL(`../${path}`, import.meta.url);
    writeFileSync(file, withUnsayable(readFileSync(file, "utf8"), surface));
  }
}
