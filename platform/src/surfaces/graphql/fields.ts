/** Derives GraphQL fields from a flat dialect: a new field of a model appears in the schema by itself. Odd fields are written out. */
import {
  GraphQLBoolean,
  type GraphQLFieldConfigMap,
  GraphQLFloat,
  type GraphQLInputFieldConfigMap,
  type GraphQLInputType,
  GraphQLInt,
  GraphQLList,
  type GraphQLOutputType,
  type GraphQLScalarType,
  GraphQLString,
} from "graphql";
import type { FlatField } from "../../kernel/flat.ts";
import type { TObject, TSchema } from "../../kernel/schema.ts";
import type { GraphContext } from "./context.ts";
import { Json } from "./scalars.ts";

type Plain = GraphQLScalarType | GraphQLList<Plain>;
type Fields = Readonly<Record<string, Pick<FlatField<unknown, unknown>, "says" | "schema">>>;
/** The part of a dialect that has its shapes. */
type Spoken = { fields: Fields };

interface Shape {
  type?: string;
  items?: TSchema;
  anyOf?: TSchema[];
}

const SCALARS: Record<string, GraphQLScalarType> = {
  string: GraphQLString,
  integer: GraphQLInt,
  number: GraphQLFloat,
  boolean: GraphQLBoolean,
};

/** The GraphQL type of a schema. Enum values become texts, since clients send them with or without quotes. */
function typeOf(schema: TSchema): Plain {
  const { type, items, anyOf } = schema as Shape;
  const said = anyOf?.find((one) => (one as Shape).type !== "null");
  if (said) return typeOf(said);
  if (type === "array" && items) return new GraphQLList(typeOf(items));
  return SCALARS[type ?? ""] ?? Json;
}

interface Choice<T> {
  /** Selects the names that begin with this, and removes it from them. By default, the names without a prefix. */
  prefix?: string;
  /** Fields whose type differs from their schema; `null` leaves a field out. */
  odd?: Readonly<Record<string, T | null>>;
  /** Selects only the fields that this shape has, such as those that an update may set. */
  within?: TObject;
}

/** The fields that a record shows. Each is read from the flat record under its own name. */
export function outputFields(
  dialect: Spoken,
  choice: Choice<GraphQLOutputType> = {},
): GraphQLFieldConfigMap<Record<string, unknown>, GraphContext> {
  const shown = Object.entries(dialect.fields).filter(([, { says }]) => says.length > 0);
  return typed(shown, choice);
}

/** The fields that a caller may send. All are optional here; the operation decides which are required. */
export function inputFields(dialect: Spoken, choice: Choice<GraphQLInputType> = {}): GraphQLInputFieldConfigMap {
  return typed(Object.entries(dialect.fields), choice);
}

function typed<T>(fields: [string, Fields[string]][], { prefix = "", odd = {}, within }: Choice<T>) {
  const isMeant = (says: readonly string[]) => !within || says.some((path) => path.split(".")[0]! in within.properties);
  const named = fields
    .filter(([, { says }]) => isMeant(says))
    .filter(([name]) => name.startsWith(prefix) && !name.slice(prefix.length).includes("."))
    .map(([name, { schema, says }]) => [name.slice(prefix.length), schema, says] as const)
    .filter(([name]) => odd[name] !== null);
  return Object.fromEntries(named.map(([name, schema]) => [name, { type: (odd[name] ?? typeOf(schema)) as T }]));
}

/** Makes fields of one type from their names. */
export const all = <T extends GraphQLOutputType>(type: T, ...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { type }]));

/** Makes input fields of one type from their names. */
export const allIn = <T extends GraphQLInputType>(type: T, ...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { type }]));

export const listOf = <T extends GraphQLOutputType>(type: T) => new GraphQLList(type);
export const text = GraphQLString;
export const int = GraphQLInt;
export const float = GraphQLFloat;
export const flag = GraphQLBoolean;

/** Drops fields that are null, and the named ones that are empty texts. */
export function given(input: unknown, ...emptyMeansUnset: string[]): Record<string, unknown> {
  const entries = Object.entries((input ?? {}) as object);
  const isGiven = ([name, value]: [string, unknown]) =>
    value !== undefined && value !== null && !(value === "" && emptyMeansUnset.includes(name));
  return Object.fromEntries(entries.filter(isGiven));
}
