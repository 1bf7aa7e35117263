/** Query strings read by their schema: text becomes the declared type, or stays text for validation to refuse. */
import type { TObject } from "../../kernel/schema.ts";

interface Declared {
  type?: string;
  items?: Declared;
}

/** Unknown parameters are ignored; a repeated one counts with its last value. */
export function readQuery(schema: TObject | undefined, search: URLSearchParams): Record<string, unknown> {
  if (!schema) return {};
  const query: Record<string, unknown> = {};
  for (const [name, declared] of Object.entries(schema.properties)) {
    const text = search.getAll(name).at(-1);
    if (text !== undefined) query[name] = readValue(declared as Declared, text);
  }
  return query;
}

function readValue(declared: Declared, text: string): unknown {
  if (declared.type === "integer" || declared.type === "number")
    return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  if (declared.type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  // Lists are one comma-joined value, as public clients send them.
  if (declared.type === "array") return text.split(",").map((part) => readValue(declared.items ?? {}, part));
  return text;
}
