/** A second schema, in which lists of rows are leaves. Their rows are completed by `plain-selection.ts`, not by the executor. */
import {
  type DocumentNode,
  type GraphQLFieldConfig,
  GraphQLObjectType,
  GraphQLScalarType,
  GraphQLSchema,
  isListType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from "graphql";
import { counted } from "./answer-size.ts";
import type { GraphContext } from "./context.ts";
import { type Fragments, NotPlain, plainList } from "./plain-selection.ts";

interface Roots {
  Query: GraphQLObjectType<unknown, GraphContext>;
  User: GraphQLObjectType<unknown, GraphContext>;
}

type Field = GraphQLFieldConfig<unknown, GraphContext>;

/** A list whose rows are complete. */
class Completed {
  readonly rows: unknown[];

  constructor(rows: unknown[]) {
    this.rows = rows;
  }
}

/** The executor does not look at what is selected of a leaf. */
const CompletedList = new GraphQLScalarType({
  name: "CompletedList",
  serialize: (list) => (list as Completed).rows,
});

/** The fields of `roots` must not be counted yet. */
export function plainSchemaOf({ Query, User }: Roots): GraphQLSchema {
  const user = changed(User, withPlainRows);
  const query = changed(Query, (field) => (field.type === User ? { ...field, type: user } : withPlainRows(field)));
  return counted(new GraphQLSchema({ query }), [query, user]);
}

function changed(type: Roots["User"], change: (field: Field) => Field): Roots["User"] {
  const { fields, ...config } = type.toConfig();
  const entries = Object.entries(fields).map(([name, field]) => [name, change(field)] as const);
  return new GraphQLObjectType({ ...config, fields: Object.fromEntries(entries) });
}

function withPlainRows(field: Field): Field {
  const { resolve } = field;
  const item = itemOf(field);
  if (!item || !resolve) return field;
  return {
    ...field,
    type: CompletedList,
    async resolve(source, args, context, info) {
      const { fieldNodes, fragments } = info;
      // The executor merges fields of the same name.
      if (fieldNodes.length > 1) throw new NotPlain();
      const complete = plainList(fieldNodes[0]!.selectionSet!, item, fragments);
      const rows = (await resolve(source, args, context, info)) as unknown[] | null | undefined;
      return rows && new Completed(await complete(rows, context));
    },
  };
}

const itemOf = ({ type }: Pick<Field, "type">): GraphQLObjectType | undefined =>
  isListType(type) && isObjectType(type.ofType) ? type.ofType : undefined;

/** Whether the plain schema can answer the document: it is a query with a list, and all that is selected of its lists is plain. */
export function isPlain({ definitions }: DocumentNode, { Query, User }: Roots): boolean {
  const fragments: Fragments = Object.fromEntries(
    definitions.filter((one) => one.kind === Kind.FRAGMENT_DEFINITION).map((one) => [one.name.value, one]),
  );
  let lists = 0;
  const look = ({ selections }: SelectionSetNode, type: Roots["User"]) => {
    for (const selection of selections) {
      if (selection.kind === Kind.INLINE_FRAGMENT) look(selection.selectionSet, type);
      if (selection.kind !== Kind.FIELD) continue;
      const name = selection.name.value;
      // The schema that clients may read is the other one.
      if (name === "__schema" || name === "__type") throw new NotPlain();
      const field = type.getFields()[name];
      const item = field && itemOf(field);
      if (field?.type === User) look(selection.selectionSet!, User);
      if (!item) continue;
      plainList(selection.selectionSet!, item, fragments);
      lists++;
    }
  };
  try {
    for (const one of definitions) {
      if (one.kind === Kind.OPERATION_DEFINITION && one.operation !== "query") return false;
      if (one.kind === Kind.OPERATION_DEFINITION) look(one.selectionSet, Query);
      if (one.kind !== Kind.FRAGMENT_DEFINITION) continue;
      const on = [Query, User].find(({ name }) => name === one.typeCondition.name.value);
      if (on) look(one.selectionSet, on);
    }
    return lists > 0;
  } catch (error) {
    if (error instanceof NotPlain) return false;
    throw error;
  }
}
