/** How much one answer may hold: lists within lists multiply, and only while they are read is it known by how much. */
import {
  type ASTVisitor,
  defaultFieldResolver,
  GraphQLError,
  type GraphQLSchema,
  getNamedType,
  isIntrospectionType,
  isListType,
  isObjectType,
  Kind,
  type SelectionNode,
  type ValidationContext,
} from "graphql";
import type { GraphContext } from "./context.ts";

/** A thousand Pods with all that is within them have fewer; for somebody without a key it is the catalog, many times over. */
const MOST_FIELDS = 250_000;
const MOST_FOR_STRANGERS = 60_000;
/** Ports of the workers of endpoints. */
const DEEPEST_LISTS = 3;

/** The same for every field beyond the limit; with a path it is passed on as it is, so that no field costs an error of its own. */
const beyond = (most: number) =>
  new GraphQLError(
    `The answer would have more than ${most} fields: ask for fewer things at once, or for less of each.`,
    { path: [], extensions: { code: "RUNPOD", meaning: "too-much" } },
  );

const tooLarge = { forUsers: beyond(MOST_FIELDS), forStrangers: beyond(MOST_FOR_STRANGERS) };

export const isTooLarge = (error: unknown): boolean => error === tooLarge.forUsers || error === tooLarge.forStrangers;

/** Counts every field that is resolved, and every item of a list before anything is made of it. */
export function counted(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || isIntrospectionType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      const resolve = field.resolve ?? defaultFieldResolver;
      field.resolve = (source, args, context: GraphContext, info) => {
        count(context, 1);
        const result: unknown = resolve(source, args, context, info);
        if (Array.isArray(result)) count(context, result.length);
        if (!(result instanceof Promise)) return result;
        return result.then((found: unknown) => {
          if (Array.isArray(found)) count(context, found.length);
          return found;
        });
      };
    }
  }
  return schema;
}

function count(context: GraphContext, more: number): void {
  context.fields += more;
  const { anonymous } = context.caller;
  if (context.fields > (anonymous ? MOST_FOR_STRANGERS : MOST_FIELDS))
    throw anonymous ? tooLarge.forStrangers : tooLarge.forUsers;
}

/** A rule of validation: lists of things within lists of things, so many at most. */
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

  /** Each once; one that contains itself is refused by another rule. */
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
