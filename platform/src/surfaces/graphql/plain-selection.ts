/** Answers a selection of plain fields in one pass over the rows. Going through them one by one, the executor takes several times as long. */
import {
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLBoolean,
  GraphQLFloat,
  GraphQLInt,
  type GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLString,
  getNullableType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from "graphql";
import { isPlainField, isTooLarge } from "./answer-size.ts";
import type { GraphContext } from "./context.ts";

/** Thrown where only the executor knows the answer: for a field that is computed, or a value that does not fit its type. */
export class NotPlain extends Error {}

export type Fragments = Readonly<Record<string, FragmentDefinitionNode>>;
type Row = Readonly<Record<string, unknown>>;
type Complete = (value: unknown, context: GraphContext) => unknown;

/** A field takes far less time here than in the executor, so a turn has more of them. */
const FIELDS_IN_A_TURN = 4000;

/** Completes all rows of a list, in turns with other requests. Beyond the limit of fields, it stops: the answer is refused as a whole. */
type PlainList = (rows: readonly unknown[], context: GraphContext) => Promise<unknown[]>;

export function plainList(set: SelectionSetNode, type: GraphQLObjectType, fragments: Fragments): PlainList {
  const complete = completeObject(set, type, fragments);
  const completedRow = (row: unknown, context: GraphContext) => {
    try {
      return row === null || row === undefined ? null : complete(row, context);
    } catch (cause) {
      throw new NotPlain("a row is answered by the executor", { cause });
    }
  };
  return async (rows, context) => {
    const all: unknown[] = [];
    context.fields += rows.length;
    for (const row of rows) {
      if (isTooLarge(context)) break;
      all.push(completedRow(row, context));
      if (context.fieldsInTurn > FIELDS_IN_A_TURN) await context.nextTurn();
    }
    return all;
  };
}

function completeObject(set: SelectionSetNode, type: GraphQLObjectType, fragments: Fragments): Complete {
  const fields = [...completions(set, type, fragments)];
  const count = fields.length;
  // An object that grows by so many fields becomes a slow one. A copy of the last one has all fields from the start.
  let last: Record<string, unknown> = JSON.parse(`{${fields.map(({ shown }) => `"${shown}":null`)}}`);
  return (value, context) => {
    if (typeof value !== "object" || value instanceof Promise) throw new NotPlain();
    context.fields += count;
    context.fieldsInTurn += count;
    const completed = { ...last };
    for (const { shown, name, asItIs, complete } of fields) {
      const found = (value as Row)[name];
      completed[shown] = isA(asItIs, found) ? found : complete(found, context);
    }
    last = completed;
    return completed;
  };
}

interface Completion {
  /** The name in the answer. */
  shown: string;
  name: string;
  /** Values of this type are shown as they are. */
  asItIs: Shown;
  complete: Complete;
}

type Shown = "string" | "boolean" | "number" | undefined;

/** Most values need no conversion, and asking the type for one takes longer than everything else that is done for a field. */
const shownAsTheyAre = new Map<unknown, Shown>([
  [GraphQLString, "string"],
  [GraphQLBoolean, "boolean"],
  [GraphQLInt, "number"],
  [GraphQLFloat, "number"],
]);

/** Among numbers, only those that every type of numbers has: whole ones with 32 bits. */
const isA = (type: Shown, value: unknown): boolean =>
  typeof value === type && (type !== "number" || ((value as number) | 0) === value);

function completions(set: SelectionSetNode, type: GraphQLObjectType, fragments: Fragments): Iterable<Completion> {
  const found = new Map<string, Completion>();
  const add = ({ selections }: SelectionSetNode) => {
    for (const selection of selections) {
      // Directives may depend on variables.
      if (selection.directives?.length) throw new NotPlain();
      if (selection.kind === Kind.FIELD) {
        const shown = (selection.alias ?? selection.name).value;
        // Fields of the same name are merged by the executor. That also stops fragments that contain each other many times.
        if (found.has(shown) || shown === "__proto__") throw new NotPlain();
        found.set(shown, { shown, ...completionOf(selection, type, fragments) });
      } else if (selection.kind === Kind.INLINE_FRAGMENT) add(selection.selectionSet);
      else add(fragments[selection.name.value]!.selectionSet);
    }
  };
  add(set);
  return found.values();
}

function completionOf(node: FieldNode, owner: GraphQLObjectType, fragments: Fragments): Omit<Completion, "shown"> {
  const name = node.name.value;
  if (name === "__typename") return { name, asItIs: undefined, complete: () => owner.name };
  const field = owner.getFields()[name];
  if (!field || !isPlainField(field)) throw new NotPlain();
  const asItIs = shownAsTheyAre.get(getNullableType(field.type));
  return { name, asItIs, complete: completeAs(field.type, node, fragments) };
}

function completeAs(type: GraphQLOutputType, node: FieldNode, fragments: Fragments): Complete {
  if (isNonNullType(type)) {
    const complete = completeAs(type.ofType, node, fragments);
    return (value, context) => {
      const completed = complete(value, context);
      if (completed === null) throw new NotPlain();
      return completed;
    };
  }
  const complete = completeGiven(type, node, fragments);
  return (value, context) => (value === null || value === undefined ? null : complete(value, context));
}

function completeGiven(type: GraphQLOutputType, node: FieldNode, fragments: Fragments): Complete {
  if (isLeafType(type)) return (value) => completeLeaf(type.serialize(value));
  if (isObjectType(type)) return completeObject(node.selectionSet!, type, fragments);
  if (!isListType(type)) throw new NotPlain();
  const complete = completeAs(type.ofType, node, fragments);
  return (value, context) => {
    if (!Array.isArray(value)) throw new NotPlain();
    context.fields += value.length;
    return value.map((item) => complete(item, context));
  };
}

function completeLeaf(value: unknown): unknown {
  if (value === null || value === undefined || value instanceof Promise) throw new NotPlain();
  return value;
}
