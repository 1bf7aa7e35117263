/** Writes schemas and parameters the way an OpenAPI document wants them. */
import type { TObject, TSchema } from "../../kernel/schema.ts";
import { MAX_PARAMETER_LENGTH } from "./router.ts";

export type Json = Record<string, unknown>;

export const pathParameter = (name: string) => ({
  name,
  in: "path",
  required: true,
  schema: { type: "string", minLength: 1, maxLength: MAX_PARAMETER_LENGTH },
});

/** A list in a query is either one value with commas, or the parameter is repeated for each item. */
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

/** Schemas with an id are written once, under `components`, and referenced everywhere else. */
export class Components {
  readonly schemas: Record<string, unknown> = {};

  /**
   * `creates` keeps the defaults: only at creation does the service fill in absent fields. An update leaves them unchanged, and a record
   * has them all.
   */
  refer(schema: TSchema, creates = false): unknown {
    const id = (schema as { $id?: string }).$id;
    if (id === undefined) return this.#plain(schema, creates);
    this.schemas[id] ??= this.#plain(schema, creates);
    return { $ref: `#/components/schemas/${id}` };
  }

  /** Makes a deep copy as plain data without our own keywords. Nested schemas with ids become references. */
  #plain(value: unknown, creates: boolean): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#nested(item, creates));
    if (typeof value !== "object" || value === null) return value;
    const kept = Object.entries(value).filter(([key]) => !isOurOwn(key) && (creates || key !== "default"));
    const plain = Object.fromEntries(
      kept.map(([key, child]) => [
        key,
        key === "properties" ? this.#named(child as object, creates) : this.#nested(child, creates),
      ]),
    );
    return "x-max-bytes" in value ? inBytes(plain, Number(value["x-max-bytes"])) : plain;
  }

  /** Fields may have any name, also that of a keyword. */
  #named(fields: object, creates: boolean): unknown {
    return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, this.#nested(field, creates)]));
  }

  #nested(value: unknown, creates: boolean): unknown {
    const isSchema = typeof value === "object" && value !== null && "$id" in value;
    return isSchema ? this.refer(value as TSchema, creates) : this.#plain(value, creates);
  }
}

const isOurOwn = (key: string) => key === "$id" || key.startsWith("x-");

/**
 * OpenAPI can only limit characters. A text never has more characters than bytes, so this limit is safe, and the description states the
 * bytes.
 */
function inBytes(schema: Json, limit: number): Json {
  const description = [schema.description, `At most ${limit} bytes of UTF-8.`].filter(Boolean).join(" ");
  return { ...schema, maxLength: limit, description };
}
