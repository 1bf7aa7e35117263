/** Refusals in the words of a flat surface: services name fields as their models do, which its callers have never seen. */
import type { FlatField } from "./flat.ts";
import { isProblem, Problem } from "./problem.ts";

/** What each name says, by the names of the model. */
export type Said = Readonly<Record<string, Pick<FlatField<never, never>, "says">>>;

/** Does something, and says what refuses it by the names that the dialect has for its fields. */
export function inFlatWords<Args extends unknown[], T>(
  fields: Said,
  work: (...args: Args) => Promise<T>,
): (...args: Args) => Promise<T> {
  return async (...args) => {
    try {
      return await work(...args);
    } catch (error) {
      throw isProblem(error) ? worded(error, fields) : error;
    }
  };
}

/** The same refusal, in those words. */
export function worded(refusal: Problem, fields: Said): Problem {
  const { code, detail, errors, retryAfterS, headers, word, reason, cause } = refusal;
  const said = (text: string) =>
    text
      .replace(/'([a-z]\w*(?:\.\w+)*)'/g, (quoted, path: string) => mark(nameOf(path, fields), "'") ?? quoted)
      .replace(/\$\.([a-z]\w*(?:\.[a-z]\w*)*)/g, (place, path: string) => mark(nameOf(path, fields), "$") ?? place);
  return new Problem(code, said(detail), {
    ...(errors && { errors: errors.map(said) }),
    ...{ retryAfterS, headers, reason, cause, ...(word !== undefined && { word }) },
  });
}

const mark = (name: string | undefined, kind: "'" | "$") =>
  name === undefined ? undefined : kind === "'" ? `'${name}'` : `$.${name}`;

/** The name that says a field, or else one that says a part of it; undefined where the word is not that of a field. */
function nameOf(path: string, fields: Said): string | undefined {
  if (path in fields) return undefined;
  const all = Object.entries(fields);
  const says = (isIt: (said: string) => boolean) => all.find(([, field]) => field.says.some(isIt))?.[0];
  const name = says((said) => said === path) ?? says((said) => said.startsWith(`${path}.`));
  return name?.split(".").at(-1);
}
