/** Parses and validates GraphQL documents within limits, cheap checks first, and remembers the ones that are sent again. */
import { costLimitRule } from "@escape.tech/graphql-armor-cost-limit";
import { maxAliasesRule } from "@escape.tech/graphql-armor-max-aliases";
import { maxDepthRule } from "@escape.tech/graphql-armor-max-depth";
import { maxDirectivesRule } from "@escape.tech/graphql-armor-max-directives";
import { MaxTokensParserWLexer } from "@escape.tech/graphql-armor-max-tokens";
import {
  type ASTVisitor,
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  GraphQLString,
  getNamedType,
  Kind,
  NoSchemaIntrospectionCustomRule,
  type SelectionSetNode,
  specifiedRules,
  TypeInfo,
  type ValidationRule,
  validate,
  visit,
  visitWithTypeInfo,
} from "graphql";
import { unstorable } from "../../kernel/storable.ts";
import { fewListsWithin } from "./answer-size.ts";

/** Clients write templates and keys into their documents. No real document is longer. */
export const LONGEST_QUERY = 256 * 1024;
const MOST_TOKENS = 6000;
const MOST_ALIASES = 250;
const MOST_DIRECTIVES = 100;
const DEEPEST = 12;
const MOST_COST = 10_000;
const MOST_DEFINITIONS = 50;
/** Validation compares all fields of the same name in one place with each other. */
const MOST_REPEATED = 5;

const MOST_REMEMBERED = 500;
const LONGEST_REMEMBERED = 16 * 1024;

/** A document that cannot be executed. */
export class InvalidDocument extends Error {
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[]) {
    super(errors[0]?.message);
    this.errors = errors;
  }
}

/** These rules take time only in proportion to the document's length, so they run first. */
const limits: ValidationRule[] = [
  fewDefinitions,
  maxDirectivesRule({ n: MOST_DIRECTIVES }),
  maxAliasesRule({ n: MOST_ALIASES, allowList: [] }),
  maxDepthRule({ n: DEEPEST, flattenFragments: true, ignoreIntrospection: true }),
  costLimitRule({ maxCost: MOST_COST, ignoreIntrospection: true }),
  fewRepeated,
  storableTexts,
  fewListsWithin,
] as ValidationRule[];

export class Documents {
  readonly #schema: GraphQLSchema;
  readonly #rules: readonly ValidationRule[];
  /** The document that was used longest ago comes first. */
  readonly #known = new Map<string, DocumentNode>();

  /** Error messages suggest no names from the schema to callers who may not read the schema. */
  readonly #hideSuggestions: boolean;

  constructor(schema: GraphQLSchema, { introspection }: { introspection: boolean }) {
    this.#schema = schema;
    this.#hideSuggestions = !introspection;
    this.#rules = introspection ? specifiedRules : [...specifiedRules, NoSchemaIntrospectionCustomRule];
  }

  /** Throws what is wrong with the document. `hold` may throw too, and runs before validation against the schema, which takes longer. */
  prepare(text: string, hold: (document: DocumentNode) => void = () => {}): DocumentNode {
    const known = this.#known.get(text);
    if (!known) {
      const document = this.#read(text, hold);
      return isWorthIt(text, document) ? this.#remember(text, document) : document;
    }
    try {
      hold(known);
    } catch (error) {
      if (isGraphError(error)) throw new InvalidDocument([error]);
      throw error;
    }
    return this.#remember(text, known);
  }

  #read(text: string, hold: (document: DocumentNode) => void): DocumentNode {
    if (text.length > LONGEST_QUERY)
      throw new InvalidDocument([
        new GraphQLError(`The query has ${text.length} characters; at most ${LONGEST_QUERY} are read.`),
      ]);
    try {
      const parsed = parse(text);
      this.#hold(parsed, limits);
      hold(parsed);
      const document = wordsAsTexts(this.#schema, parsed);
      this.#hold(document, this.#rules);
      return document;
    } catch (error) {
      if (isGraphError(error)) throw new InvalidDocument([error]);
      // Parsing and validation are recursive. A document that is nested too deeply overflows the stack.
      if (error instanceof RangeError) throw new InvalidDocument([new GraphQLError("The query is nested too deeply.")]);
      throw error;
    }
  }

  #hold(document: DocumentNode, rules: readonly ValidationRule[]): void {
    const errors = validate(this.#schema, document, rules, {
      maxErrors: 20,
      hideSuggestions: this.#hideSuggestions,
    });
    if (errors.length > 0) throw new InvalidDocument(errors);
  }

  #remember(text: string, document: DocumentNode): DocumentNode {
    this.#known.delete(text);
    this.#known.set(text, document);
    if (this.#known.size > MOST_REMEMBERED) this.#known.delete(this.#known.keys().next().value!);
    return document;
  }
}

/** Some clients write the values of a change, even secrets, into the document. So changes are not remembered. */
function isWorthIt(text: string, { definitions }: DocumentNode): boolean {
  const changes = definitions.some((one) => one.kind === Kind.OPERATION_DEFINITION && one.operation !== "query");
  return text.length <= LONGEST_REMEMBERED && !changes;
}

function parse(text: string): DocumentNode {
  return new MaxTokensParserWLexer(text, { n: MOST_TOKENS }).parseDocument();
}

/** Compared by name, since a bundler may load the library twice, once for the rules. */
const isGraphError = (error: unknown): error is GraphQLError => error instanceof Error && error.name === "GraphQLError";

/** Some clients write a word such as QUEUE_DELAY without quotes where the schema expects a text. */
function wordsAsTexts(schema: GraphQLSchema, document: DocumentNode): DocumentNode {
  const types = new TypeInfo(schema);
  const visitor = visitWithTypeInfo(types, {
    EnumValue(node) {
      const expected = getNamedType(types.getInputType());
      return expected === GraphQLString ? { kind: Kind.STRING, value: node.value, loc: node.loc } : undefined;
    },
  });
  return visit(document, visitor);
}

function fewDefinitions(): ASTVisitor {
  return {
    Document({ definitions: { length } }) {
      if (length > MOST_DEFINITIONS)
        throw new GraphQLError(`At most ${MOST_DEFINITIONS} operations and fragments are read, not ${length}.`);
    },
  };
}

/**
 * An escape can express characters that the document's own text cannot contain. The texts of variables are checked where their JSON is
 * read.
 */
function storableTexts(): ASTVisitor {
  return {
    StringValue(node) {
      const why = unstorable(node.value);
      if (why !== undefined) throw new GraphQLError(`A text ${why}.`, { nodes: node });
    },
  };
}

function fewRepeated(): ASTVisitor {
  return {
    SelectionSet(set) {
      refuseRepeated(set, new Map());
    },
  };
}

function refuseRepeated({ selections }: SelectionSetNode, counts: Map<string, number>): void {
  for (const selection of selections) {
    if (selection.kind === Kind.INLINE_FRAGMENT) refuseRepeated(selection.selectionSet, counts);
    if (selection.kind !== Kind.FIELD) continue;
    const name = (selection.alias ?? selection.name).value;
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    if (count > MOST_REPEATED)
      throw new GraphQLError(`'${name}' is asked for more than ${MOST_REPEATED} times in one place.`);
  }
}
