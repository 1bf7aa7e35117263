/** The schema library, which only this file imports, and the few shapes that many models share. */
import type Type from "typebox";
import type { Static, TObject, TProperties, TSchema, TUnsafe } from "typebox";

export type { Static, TObject, TProperties, TSchema, TUnsafe };

type Options = Record<string, unknown>;
type Schema = Record<string, unknown>;

const plain = (type: string) => (options?: Options) => ({ type, ...options });

/** The mark is not enumerable, so neither loops over a schema's keys nor printed schemas contain it. */
const OPTIONAL = "~optional";
export const isOptional = (schema: object) => OPTIONAL in schema;

function optional(schema: Schema): Schema {
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema));
  return Object.defineProperty(copy, OPTIONAL, { value: true });
}

function object(properties: Record<string, Schema>, options?: Options): Schema {
  const required = Object.keys(properties).filter((name) => !isOptional(properties[name]!));
  return { type: "object", ...(required.length > 0 && { required }), properties, ...options };
}

/** Makes every field optional. The object's own options are not carried over. */
function partial({ properties }: Schema, options?: Options): Schema {
  const fields = Object.entries(properties as Record<string, Schema>);
  return object(Object.fromEntries(fields.map(([name, schema]) => [name, optional(schema)])), options);
}

const record = ({ pattern = "^.*$" }: Schema, value: Schema, options?: Options): Schema => ({
  type: "object",
  patternProperties: { [pattern as string]: value },
  ...options,
});

/**
 * TypeBox's functions for the schemas used here, with its types, which infer TypeScript types from schemas. TypeBox itself is not loaded:
 * its 350 modules took a fifth of the start, for a dozen functions that return what they are given.
 */
export const t = {
  Any: (options?: Options) => ({ ...options }),
  Array: (items: Schema, options?: Options) => ({ type: "array", items, ...options }),
  Boolean: plain("boolean"),
  Integer: plain("integer"),
  Literal: (value: string | boolean, options?: Options) => ({ type: typeof value, const: value, ...options }),
  Null: plain("null"),
  Number: plain("number"),
  Object: object,
  Optional: optional,
  Partial: partial,
  Record: record,
  String: plain("string"),
  Union: (anyOf: Schema[], options?: Options) => ({ anyOf, ...options }),
  Unknown: (options?: Options) => ({ ...options }),
  Unsafe: (schema: Schema) => ({ ...schema }),
} as unknown as Pick<
  typeof Type,
  | "Any"
  | "Array"
  | "Boolean"
  | "Integer"
  | "Literal"
  | "Null"
  | "Number"
  | "Object"
  | "Optional"
  | "Partial"
  | "Record"
  | "String"
  | "Union"
  | "Unknown"
  | "Unsafe"
>;

export const dateTime = (description: string) => t.String({ format: "date-time", maxLength: 64, description });

/** Counted in characters. */
export const LONGEST_NAME = 191;

/** An id or a name, of something of ours or of an entry in a catalog. */
export const name = (options: object = {}) => t.String({ minLength: 1, maxLength: LONGEST_NAME, ...options });

export const nullable = <S extends TSchema>(schema: S) => t.Union([schema, t.Null()]);

export const oneOf = <const V extends readonly string[]>(values: V, options: object = {}) =>
  t.Unsafe<V[number]>({ type: "string", enum: [...values], ...options });

/** An object that refuses every key it does not name. */
export const closed = <P extends TProperties>(properties: P, options: object = {}) =>
  t.Object(properties, { additionalProperties: false, ...options });
