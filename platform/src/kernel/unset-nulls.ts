/** Null in a body for a field that nobody set, as generated clients send it. It means the same as leaving the field out. */
import type { TProperties, TSchema } from "./schema.ts";

interface Form {
  type?: string;
  anyOf?: Form[];
}

/** True if null is a value of the field itself, such as for clearing it. */
const takesNull = ({ type, anyOf = [] }: Form): boolean => type === "null" || anyOf.some(takesNull);

/** The mark on a schema is not enumerable, so it is in no printed schema. */
const UNSET = "~unset-nulls";

/** Lets the optional fields of a body be null. Those that have null as a value themselves keep its meaning. */
export function withUnsetNulls<S extends TSchema>(body: S): S {
  const { properties, required = [] } = body as unknown as { properties: TProperties; required?: readonly string[] };
  const names = Object.keys(properties).filter((name) => !required.includes(name) && !takesNull(properties[name]!));
  const orNulls = Object.fromEntries(names.map((name) => [name, orNull(properties[name]!)]));
  const schema = { ...body, properties: { ...properties, ...orNulls } };
  return Object.defineProperty(schema, UNSET, { value: names });
}

/** What describes the field as a whole stays outside of its forms. */
function orNull(field: TSchema): TSchema {
  const { description, default: unsaid, "x-who": who, ...form } = field as Record<string, unknown>;
  const forms = (form as Form).anyOf ?? [form];
  const about = { ...(description !== undefined && { description }), ...(unsaid !== undefined && { default: unsaid }) };
  return { anyOf: [...forms, { type: "null" }], ...about, ...(who !== undefined && { "x-who": who }) };
}

/** Returns a valid body without the nulls that mean nothing. */
export function withoutUnsetNulls<B>(schema: TSchema, body: B): B {
  const names = (schema as { [UNSET]?: readonly string[] })[UNSET];
  const isUnset = (name: string) => (body as Record<string, unknown>)[name] === null;
  if (!names?.some(isUnset)) return body;
  const left = Object.entries(body as object).filter(([name]) => !(names.includes(name) && isUnset(name)));
  return Object.fromEntries(left) as B;
}
