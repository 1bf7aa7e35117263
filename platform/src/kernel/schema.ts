/** The schema library, named in this file alone, with the few shapes that many models share. */
import Type, { type Static, type TObject, type TProperties, type TSchema, type TUnsafe } from "typebox";

export const t = Type;
export type { Static, TObject, TProperties, TSchema, TUnsafe };

/** Our own words in a schema. None of them is in the OpenAPI document. */
export interface Vocabulary {
  /** Upper limit in bytes of UTF-8; the specification counts bytes where JSON Schema counts characters. */
  "x-max-bytes"?: number;
  /** Name in the flat dialect of REST v1 and GraphQL, where it is another. */
  "x-flat"?: string;
}

export const dateTime = (description: string) => t.String({ format: "date-time", maxLength: 64, description });

/** An id or a name of something, of ours or in a catalog. */
export const name = (options: object = {}) => t.String({ minLength: 1, maxLength: 191, ...options });

export const nullable = <S extends TSchema>(schema: S) => t.Union([schema, t.Null()]);

export const oneOf = <const V extends readonly string[]>(values: V, options: object = {}) =>
  t.Unsafe<V[number]>({ type: "string", enum: [...values], ...options });

/** An object that refuses every key it does not name. */
export const closed = <P extends TProperties>(properties: P, options: object = {}) =>
  t.Object(properties, { additionalProperties: false, ...options });
