/** The context of one request: the caller, the services, and what was read so far. Each thing is read only once. */
import type { GraphQLFieldConfig, GraphQLFieldConfigArgumentMap, GraphQLOutputType } from "graphql";
import { type Auditing, isChange } from "../../guards/deeds.ts";
import { perform } from "../../guards/perform.ts";
import type { Caller } from "../../kernel/caller.ts";
import { turn } from "../../kernel/clock.ts";
import { type Said, worded } from "../../kernel/flat-words.ts";
import type { Call, Operation } from "../../kernel/operation.ts";
import { isProblem, type Problem, problem } from "../../kernel/problem.ts";
import { allows } from "../../kernel/scope.ts";
import { costing, type FieldCost } from "./document-cost.ts";
import { type Literal, refusalOf } from "./refusals.ts";
import type { GraphServices } from "./services.ts";

// biome-ignore lint/suspicious/noExplicitAny: the schema declares the arguments of each field, and validation checks them
export type Arguments = any;

/** A field that is an operation: the right it requires, how the audit log records it, and what answers it. */
export interface OperationField<Answer = unknown> {
  type: GraphQLOutputType;
  args?: GraphQLFieldConfigArgumentMap;
  operation: Operation;
  /** Chooses the operation by the arguments, such as whether something is created or changed. */
  meant?: (args: Arguments) => Operation;
  /** What the operation acts on, above all its `id`. The audit log names it. */
  params?: (args: Arguments, context: GraphContext) => Record<string, string> | Promise<Record<string, string>>;
  /** The caller's input in the shape of the operation's `in`. */
  body?: (args: Arguments) => unknown;
  answer: (call: Call & { body: Arguments }, context: GraphContext, args: Arguments) => Promise<Answer>;
  /** This surface's names for the fields in a refusal, where the services use other names. */
  words?: Said;
  /** A fixed message or code that clients compare, for some refusals. */
  literal?: (refusal: Problem) => Literal | undefined;
  /** Requires a key, although other operations show the same to everyone. */
  needsKey?: boolean;
  /** The cost, if it is known before reading. */
  cost?: FieldCost;
}

export type OperationFields = Readonly<Record<string, OperationField>>;

interface ContextParts {
  caller: Caller;
  services: GraphServices;
  auditing: (name: string) => Auditing;
}

export class GraphContext {
  readonly caller: Caller;
  readonly services: GraphServices;
  /** How many fields were resolved so far. */
  fields = 0;
  /** How many of them were resolved since other requests last had a turn. */
  fieldsInTurn = 0;
  /** Whether a change was made, or at least begun. */
  hasChanged = false;
  readonly #auditing: (name: string) => Auditing;
  readonly #read = new Map<unknown, Promise<unknown>>();
  #turns: Promise<void> = Promise.resolve();

  constructor({ caller, services, auditing }: ContextParts) {
    this.caller = caller;
    this.services = services;
    this.#auditing = auditing;
  }

  /** Performs an operation behind the same guards as every other surface. */
  async perform<Answer>(name: string, field: OperationField<Answer>, args: Arguments = {}): Promise<Answer> {
    const { params, body, answer } = field;
    const operation = field.meant?.(args) ?? field.operation;
    try {
      this.#refuseStrangers(operation, field.needsKey);
      if (isChange(operation)) this.hasChanged = true;
      const input = { params: (await params?.(args, this)) ?? {}, body: () => body?.(args) };
      const handler = (call: Call) => answer(call as Parameters<typeof answer>[0], this, args);
      return (await perform(operation, handler, this.caller, input, this.#auditing(name))) as Answer;
    } catch (error) {
      if (!isProblem(error)) throw error;
      const refusal = field.words ? worded(error, field.words) : error;
      throw refusalOf(refusal, { caller: this.caller, operation, literal: field.literal });
    } finally {
      // Results read before a change may be outdated.
      if (isChange(operation)) this.#read.clear();
    }
  }

  /** Performs a read without arguments. It runs once per request, however often it is asked for. */
  performOnce<Answer>(name: string, field: OperationField<Answer>): Promise<Answer> {
    return this.once(field, () => this.perform(name, field));
  }

  /** Resolves after other requests had a turn, and after all turns that were asked for before. */
  nextTurn(): Promise<void> {
    this.#turns = this.#turns.then(turn).then(() => {
      this.fieldsInTurn = 0;
    });
    return this.#turns;
  }

  once<T>(key: unknown, read: () => Promise<T>): Promise<T> {
    const known = this.#read.get(key) as Promise<T> | undefined;
    if (known) return known;
    const reading = read();
    this.#read.set(key, reading);
    return reading;
  }

  /** Strangers are refused here, since they have no account whose audit log could record the attempt. */
  #refuseStrangers({ scope }: Operation, needsKey = false): void {
    if (this.caller.anonymous && (needsKey || scope === undefined || !allows(this.caller.grants, scope)))
      throw problem("unauthenticated", "this takes an API key");
  }
}

/** Turns operation fields into the fields of a GraphQL object type. */
export function resolved(fields: OperationFields): Record<string, GraphQLFieldConfig<unknown, GraphContext>> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      {
        type: field.type,
        ...(field.args && { args: field.args }),
        ...costing(field.cost),
        resolve: (_source: unknown, args: Arguments, context: GraphContext) =>
          field.args || isChange(field.operation)
            ? context.perform(name, field, args)
            : context.performOnce(name, field),
      },
    ]),
  );
}
