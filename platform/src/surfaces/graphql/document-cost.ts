/** Estimates the cost of a document from the schema and its variables, before anything is resolved. */
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  valueFromASTUntyped,
} from "graphql";

// biome-ignore lint/suspicious/noExplicitAny: the schema describes the arguments of a field, and they are read before validation
type Arguments = any;

/** Measured in fields: a plain field costs 1. */
export interface FieldCost {
  /** The cost of the field itself, without its items and their fields. */
  weight?: number;
  /** The most items that the list can have. */
  items?: (args: Arguments) => number;
}

/** The assumed length of a list when nothing is known about it. While it is answered, the real length is counted. */
const OF_AN_ACCOUNT = 10;

/** Adds the cost to the configuration of a field. */
export const costing = (cost: FieldCost | undefined) => (cost ? { extensions: { cost } } : {});

export interface Asking {
  operationName: string | undefined;
  variables: Record<string, unknown>;
}

/** The cost of the most expensive operation that may be meant. Aliases count like other fields, and so do fields skipped by a directive. */
export function costOf(schema: GraphQLSchema, document: DocumentNode, { operationName, variables }: Asking): number {
  const operations = document.definitions.filter(
    (one): one is OperationDefinitionNode =>
      one.kind === Kind.OPERATION_DEFINITION && (operationName === undefined || one.name?.value === operationName),
  );
  const costs = operations.map((operation) => new Reckoning(schema, document, operation, variables).cost);
  return Math.max(0, ...costs);
}

class Reckoning {
  readonly cost: number;
  readonly #schema: GraphQLSchema;
  readonly #variables: Record<string, unknown>;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #known = new Map<string, number>();

  constructor(
    schema: GraphQLSchema,
    { definitions }: DocumentNode,
    { operation, selectionSet, variableDefinitions = [] }: OperationDefinitionNode,
    variables: Record<string, unknown>,
  ) {
    this.#schema = schema;
    const defaults = variableDefinitions.map(({ variable, defaultValue }) => [
      variable.name.value,
      defaultValue && valueFromASTUntyped(defaultValue),
    ]);
    this.#variables = { ...Object.fromEntries(defaults), ...variables };
    const fragments = definitions.filter((one) => one.kind === Kind.FRAGMENT_DEFINITION);
    this.#fragments = new Map(fragments.map((one) => [one.name.value, one]));
    this.cost = this.#ofAll(selectionSet, schema.getRootType(operation)?.name ?? "");
  }

  #ofAll({ selections }: SelectionSetNode, within: string): number {
    let sum = 0;
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) sum += this.#ofField(selection, within);
      else if (selection.kind === Kind.FRAGMENT_SPREAD) sum += this.#ofFragment(selection.name.value);
      else sum += this.#ofAll(selection.selectionSet, selection.typeCondition?.name.value ?? within);
    }
    return sum;
  }

  /** Counts each fragment once. Validation refuses fragments that contain themselves. */
  #ofFragment(name: string): number {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    this.#known.set(name, 0);
    const fragment = this.#fragments.get(name);
    const cost = fragment ? this.#ofAll(fragment.selectionSet, fragment.typeCondition.name.value) : 0;
    this.#known.set(name, cost);
    return cost;
  }

  #ofField(node: FieldNode, within: string): number {
    const owner = this.#schema.getType(within);
    const field = isObjectType(owner) ? owner.getFields()[node.name.value] : undefined;
    if (!field) return 1;
    const { weight = 1, items } = costIn(field);
    const inner = node.selectionSet ? this.#ofAll(node.selectionSet, getNamedType(field.type).name) : 0;
    if (!isListType(getNullableType(field.type))) return weight + inner;
    const count = items?.(this.#argumentsOf(node)) ?? (node.selectionSet ? OF_AN_ACCOUNT : 1);
    return weight + count * (1 + inner);
  }

  #argumentsOf({ arguments: given = [] }: FieldNode): Arguments {
    const values = given.map(({ name, value }) => [name.value, valueFromASTUntyped(value, this.#variables)]);
    return Object.fromEntries(values);
  }
}

const costIn = ({ extensions }: GraphQLField<unknown, unknown>) => (extensions as { cost?: FieldCost }).cost ?? {};

export function refuseCostly(cost: number, most: number, who: string): void {
  if (cost > most)
    throw new GraphQLError(
      `The query would cost ${cost}, and at most ${most} is answered ${who}: each field costs 1 for every item that it is read of, a price 10. Ask for fewer things at once, or for less of each.`,
    );
}
