/** The scalars that GraphQL clients know in addition to the standard ones. */
import { GraphQLError, GraphQLScalarType, Kind, type ValueNode, valueFromASTUntyped } from "graphql";
import { parseTimestamp, timestamp } from "../../kernel/clock.ts";

/** An instant: RFC 3339 on the wire, milliseconds in the code. */
export const DateTime = new GraphQLScalarType<number, string>({
  name: "DateTime",
  serialize: (value) => (typeof value === "number" ? timestamp(value) : String(value)),
  parseValue: instant,
  parseLiteral: (node) => instant(node.kind === Kind.STRING ? node.value : undefined),
});

function instant(given: unknown): number {
  const read = typeof given === "string" ? parseTimestamp(given) : undefined;
  if (read === undefined) throw new GraphQLError("DateTime must be an instant such as 2026-01-31T12:00:00Z");
  return read;
}

const textOf = (given: unknown): string => {
  if (typeof given === "string" || typeof given === "number") return String(given);
  throw new GraphQLError("Port must be a number or a text");
};

/** A port in an old form, which is ignored. */
export const Port = new GraphQLScalarType<string, string>({
  name: "Port",
  serialize: textOf,
  parseValue: textOf,
  parseLiteral: (node) => textOf("value" in node ? node.value : undefined),
});

/** The type of fields that return nothing. */
export const Void = new GraphQLScalarType<undefined, null>({ name: "Void", serialize: () => null });

/** Any JSON value. */
export const Json = new GraphQLScalarType<unknown, unknown>({
  name: "JSON",
  parseValue: (value) => value,
  parseLiteral: (node: ValueNode, variables) => valueFromASTUntyped(node, variables),
});
