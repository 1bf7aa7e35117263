/** Schemas and parameters as an OpenAPI document has them. */
import type { TObject, TSchema } from "../../kernel/schema.ts";
import { MAX_PARAMETER_LENGTH } from "./router.ts";

export type Json = Record<string, unknown>;

export const pathParameter = (name: string) => ({
  name,
  in: "path",
  required: true,
  schema: { type: "string", minLength: 1, maxLength: MAX_PARAMETER_LENGTH },
});

/** A list in a query is one value with commas, or its name is repeated for each item. */
export type ListStyle = "joined" | "repeated";

export function parametersIn(
  place: "query" | "header",
  given: TObject | undefined,
  components: Components,
  lists: ListStyle = "joined",
): Json[] {
  return Object.entries(given?.properties ?? {}).map(([name, schema]) => {
    const { description, ...rest } = components.refer(schema, true) as { description?: string; type?: string };
    const required = (given!.required as string[] | undefined)?.includes(name) ?? false;
    const list = rest.type === "array" ? { style: "form", explode: lists === "repeated" } : {};
    return { name, in: place, required, description, schema: rest, ...list };
  });
}

/** Schemas that carry an id are written once, under `components`, and referred to everywhere else. */
export class Components {
  readonly schemas: Record<string, unknown> = {};

  /** `creates`: the service fills in what is absent. An update leaves it as it was, and a record lacks nothing. */
  refer(schema: TSchema, creates = false): unknown {
    const id = (schema as { $id?: string }).$id;
    if (id === undefined) return this.#plain(schema, creates);
    this.schemas[id] ??= this.#plain(schema, creates);
    return { $ref: `#/components/schemas/${id}` };
  }

  /** A deep copy as plain data, without words of our own; nested schemas with ids become references. */
  #plain(value: unknown, creates: boolean): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#nested(item, creates));
    if (typeof value !== "object" || value === null) return value;
    const kept = Object.entries(value).filter(([key]) => !isOurOwn(key) && (creates || key !== "default"));
    const plain = Object.fromEntries(kept.map(([key, child]) => [key, this.#nested(child, creates)]));
    return "x-max-bytes" in value ? inBytes(plain, Number(value["x-max-bytes"])) : plain;
  }

  #nested(value: unknown, creates: boolean): unknown {
    const isSchema = typeof value === "object" && value !== null && "$id" in value;
    return isSchema ? this.refer(value as TSchema, creates) : this.#plain(value, creates);
  }
}

const isOurOwn = (key: string) => key === "$id" || key.startsWith("x-");

/** The document counts characters, of which there are never more than bytes; the rest is said in words. */
function inBytes(schema: Json, limit: number): Json {
  const description = [schema.description, `At most ${limit} bytes of UTF-8.`].filter(Boolean).join(" ");
  return { ...schema, maxLength: limit, description };
}
