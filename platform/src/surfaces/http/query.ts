/** Reads query strings by their schema: text becomes the declared type, or stays text for validation to refuse. */
import type { TObject } from "../../kernel/schema.ts";

interface Declared {
  type?: string;
  items?: Declared;
}

/** Unknown parameters are ignored. Of a repeated parameter the last value counts, except for a list, which takes all values. */
export function readQuery(schema: TObject | undefined, search: URLSearchParams): Record<string, unknown> {
  if (!schema) return {};
  const query: Record<string, unknown> = {};
  for (const [name, declared] of Object.entries(schema.properties)) {
    const texts = search.getAll(name);
    const isList = (declared as Declared).type === "array";
    const text = isList && texts.length > 0 ? texts.join(",") : texts.at(-1);
    if (text !== undefined) query[name] = readValue(declared as Declared, text);
  }
  return query;
}

function readValue(declared: Declared, text: string): unknown {
  if (declared.type === "integer" || declared.type === "number")
    return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  // Python clients write `True`.
  if (declared.type === "boolean") return /^true$/i.test(text) ? true : /^false$/i.test(text) ? false : text;
  // A list is one value with commas, as public clients send it.
  if (declared.type === "array") return text.split(",").map((part) => readValue(declared.items ?? {}, part));
  return text;
}
