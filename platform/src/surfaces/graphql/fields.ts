/** GraphQL fields from a flat dialect: a field that is added to a model is in the schema by itself; odd ones are written out. */
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
/** A dialect, as far as its shapes go. */
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

/** What a schema is in GraphQL. Words of a closed list are texts: clients send them in either form. */
function typeOf(schema: TSchema): Plain {
  const { type, items, anyOf } = schema as Shape;
  const said = anyOf?.find((one) => (one as Shape).type !== "null");
  if (said) return typeOf(said);
  if (type === "array" && items) return new GraphQLList(typeOf(items));
  return SCALARS[type ?? ""] ?? Json;
}

interface Choice<T> {
  /** What stands before the names that are meant, and is left off them; by default those without any. */
  prefix?: string;
  /** Names with another type than their schema says; `null` leaves one out. */
  odd?: Readonly<Record<string, T | null>>;
  /** Those alone that say something of this shape, such as what an update may say. */
  within?: TObject;
}

/** What a record in the dialect shows. Each is read from the flat record under its own name. */
export function outputFields(
  dialect: Spoken,
  choice: Choice<GraphQLOutputType> = {},
): GraphQLFieldConfigMap<Record<string, unknown>, GraphContext> {
  const shown = Object.entries(dialect.fields).filter(([, { says }]) => says.length > 0);
  return typed(shown, choice);
}

/** What a caller may say in the dialect. All of it may be left out: whether it must be there, its operation says. */
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

/** Fields of one type, by their names. */
export const all = <T extends GraphQLOutputType>(type: T, ...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { type }]));

/** The same of an input. */
export const allIn = <T extends GraphQLInputType>(type: T, ...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { type }]));

export const listOf = <T extends GraphQLOutputType>(type: T) => new GraphQLList(type);
export const text = GraphQLString;
export const int = GraphQLInt;
export const float = GraphQLFloat;
export const flag = GraphQLBoolean;

/** Fields that were sent empty, or as null, were not sent. */
export function given(input: unknown, ...emptyMeansUnset: string[]): Record<string, unknown> {
  const entries = Object.entries((input ?? {}) as object);
  const isGiven = ([name, value]: [string, unknown]) =>
    value !== undefined && value !== null && !(value === "" && emptyMeansUnset.includes(name));
  return Object.fromEntries(entries.filter(isGiven));
}
