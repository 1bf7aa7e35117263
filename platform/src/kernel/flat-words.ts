/** Puts refusals into the words of a flat surface: services name fields as their models do, and its callers have never seen those names. */
import type { FlatField } from "./flat.ts";
import { isProblem, Problem } from "./problem.ts";

/** For each name of the dialect, the fields of the model that it stands for. */
export type Said = Readonly<Record<string, Pick<FlatField<never, never>, "says">>>;

/** Wraps `work` so that its refusals name fields by their names in the dialect. */
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

/** Returns the same refusal with the dialect's names. */
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

/** Returns the dialect's name for a field, or else a name for a part of it. Undefined when the word is no field of the model. */
function nameOf(path: string, fields: Said): string | undefined {
  if (path in fields) return undefined;
  const all = Object.entries(fields);
  const says = (isIt: (said: string) => boolean) => all.find(([, field]) => field.says.some(isIt))?.[0];
  const name = says((said) => said === path) ?? says((said) => said.startsWith(`${path}.`));
  return name?.split(".").at(-1);
}
