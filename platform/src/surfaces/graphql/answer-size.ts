/** Limits the size of an answer. Lists within lists multiply, and their lengths are known only while they are read. */
import {
  type ASTVisitor,
  defaultFieldResolver,
  GraphQLError,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isIntrospectionType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionNode,
  type ValidationContext,
} from "graphql";
import type { Caller } from "../../kernel/caller.ts";
import { slicesOf } from "../../kernel/slices.ts";
import type { GraphContext } from "./context.ts";

/** A thousand Pods with everything in them have fewer fields. For strangers the limit is the catalog, many times over. */
const MOST_FIELDS = 150_000;
const MOST_FOR_STRANGERS = 20_000;
/** Longer lists are answered this many items per turn. Other requests run between the turns. */
const IN_A_TURN = 10;
/** Many short lists together count as a long one. */
const FIELDS_IN_A_TURN = 500;
/** The deepest list that clients need is the ports of the workers of endpoints. */
const DEEPEST_LISTS = 3;

/** The error in place of an answer that is too large. */
export const tooLarge = ({ caller }: GraphContext): GraphQLError =>
  new GraphQLError(
    `The answer would have more than ${mostFor(caller)} fields: ask for fewer things at once, or for less of each.`,
    { extensions: { code: "RUNPOD", meaning: "too-much", reasonCode: "too-much" } },
  );

export const mostFor = ({ anonymous }: Caller): number => (anonymous ? MOST_FOR_STRANGERS : MOST_FIELDS);

export const isTooLarge = ({ fields, caller }: GraphContext): boolean => fields > mostFor(caller);

/** An error that has a path is passed on unchanged. Making a separate error for each field would take longer than the answer. */
const notAnswered = new GraphQLError("The answer is too large.", { path: [] });

/** The fields that are read from a row under their own names. */
const plainFields = new WeakSet<object>();

export const isPlainField = (field: GraphQLField<unknown, GraphContext>): boolean => plainFields.has(field);

const objectTypes = (schema: GraphQLSchema): GraphQLObjectType[] =>
  Object.values(schema.getTypeMap()).filter(
    (type): type is GraphQLObjectType => isObjectType(type) && !isIntrospectionType(type),
  );

/** Counts every resolved field, and every item of a list before it is resolved. Beyond the limit, nothing more is read. */
export function counted(schema: GraphQLSchema, types = objectTypes(schema)): GraphQLSchema {
  for (const type of types) {
    for (const field of Object.values(type.getFields())) {
      if (!field.resolve) plainFields.add(field);
      const resolve = field.resolve ?? defaultFieldResolver;
      const isNeeded = isNonNullType(field.type);
      const nothing = () => {
        if (isNeeded) throw notAnswered;
        return null;
      };
      const within = (found: unknown, context: GraphContext) => {
        if (!Array.isArray(found)) return found;
        context.fields += found.length;
        if (isTooLarge(context)) return nothing();
        return found.length > IN_A_TURN || context.fieldsInTurn > FIELDS_IN_A_TURN ? inTurns(found, context) : found;
      };
      field.resolve = (source, args, context: GraphContext, info) => {
        context.fields++;
        context.fieldsInTurn++;
        if (isTooLarge(context)) return nothing();
        const result: unknown = resolve(source, args, context, info);
        return result instanceof Promise ? result.then((found) => within(found, context)) : within(result, context);
      };
    }
  }
  return schema;
}

/** Splits a long list into slices. The items of a later slice are promises, kept in a turn of its own after all slices begun before it. */
function inTurns(items: readonly unknown[], context: GraphContext): unknown[] {
  const slices = [...slicesOf(items, IN_A_TURN)];
  return slices.flatMap((slice, i) => {
    if (i === 0 && context.fieldsInTurn <= FIELDS_IN_A_TURN) return slice;
    const turn = context.nextTurn();
    return slice.map((item) => turn.then(() => item));
  });
}

/** Validation rule: limits how deep lists of objects are nested in each other. */
export function fewListsWithin(context: ValidationContext): ASTVisitor {
  const known = new Map<string, number>();
  const schema = context.getSchema();

  const deepest = (selections: readonly SelectionNode[], type: string): number =>
    selections.reduce((most, selection) => Math.max(most, depthOf(selection, type)), 0);

  function depthOf(selection: SelectionNode, within: string): number {
    if (selection.kind === Kind.FRAGMENT_SPREAD) return ofFragment(selection.name.value);
    if (selection.kind === Kind.INLINE_FRAGMENT)
      return deepest(selection.selectionSet.selections, selection.typeCondition?.name.value ?? within);
    const owner = schema.getType(within);
    const field = isObjectType(owner) ? owner.getFields()[selection.name.value] : undefined;
    if (!field || !selection.selectionSet) return 0;
    const inner = deepest(selection.selectionSet.selections, getNamedType(field.type).name);
    return inner + (isListType(field.type) ? 1 : 0);
  }

  /** Looks at each fragment once. Another rule refuses fragments that contain themselves. */
  function ofFragment(name: string): number {
    const before = known.get(name);
    if (before !== undefined) return before;
    known.set(name, 0);
    const fragment = context.getFragment(name);
    const depth = fragment ? deepest(fragment.selectionSet.selections, fragment.typeCondition.name.value) : 0;
    known.set(name, depth);
    return depth;
  }

  return {
    OperationDefinition({ operation, selectionSet }) {
      const depth = deepest(selectionSet.selections, schema.getRootType(operation)?.name ?? "");
      if (depth > DEEPEST_LISTS)
        throw new GraphQLError(`Lists within lists: at most ${DEEPEST_LISTS} are answered, not ${depth}.`);
    },
  };
}
