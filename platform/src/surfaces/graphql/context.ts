/** What one request has: who asks, the services, and what was read for it so far, each thing once however often it is asked for. */
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

// biome-ignore lint/suspicious/noExplicitAny: the schema says of each field what its arguments are, and validation sees to it
export type Arguments = any;

/** A field that is an operation: what right it takes, what the audit log says of it, and what answers it. */
export interface OperationField<Answer = unknown> {
  type: GraphQLOutputType;
  args?: GraphQLFieldConfigArgumentMap;
  operation: Operation;
  /** Where what is said decides which operation is meant, such as whether something is made or changed: that one. */
  meant?: (args: Arguments) => Operation;
  /** What it is done to, `id` above all, which the audit log names. */
  params?: (args: Arguments, context: GraphContext) => Record<string, string> | Promise<Record<string, string>>;
  /** What the caller says, in the terms of the operation's `in`. */
  body?: (args: Arguments) => unknown;
  answer: (call: Call & { body: Arguments }, context: GraphContext, args: Arguments) => Promise<Answer>;
  /** What this surface calls the fields that a refusal may name, where services have other names for them. */
  words?: Said;
  /** A fixed text or code that clients compare, where this is refused. */
  literal?: (refusal: Problem) => Literal | undefined;
  /** Although what it reads is open to all elsewhere. */
  needsKey?: boolean;
  /** Where it is known before it is read. */
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
  /** Fields that were resolved so far. */
  fields = 0;
  /** Of these, since others had their turn. */
  fieldsInTurn = 0;
  /** Something was done, or at least begun. */
  hasChanged = false;
  readonly #auditing: (name: string) => Auditing;
  readonly #read = new Map<unknown, Promise<unknown>>();
  #turns: Promise<void> = Promise.resolve();

  constructor({ caller, services, auditing }: ContextParts) {
    this.caller = caller;
    this.services = services;
    this.#auditing = auditing;
  }

  /** Through the same guards as on every other surface. */
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
      // What was read before a change may not hold any more.
      if (isChange(operation)) this.#read.clear();
    }
  }

  /** A field that reads, without arguments: as often as it is asked for in one request, it is read once. */
  performOnce<Answer>(name: string, field: OperationField<Answer>): Promise<Answer> {
    return this.once(field, () => this.perform(name, field));
  }

  /** Comes after everybody else's turn, and after all that were asked for before. */
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

  /** There is no account whose audit log could say that they tried. */
  #refuseStrangers({ scope }: Operation, needsKey = false): void {
    if (this.caller.anonymous && (needsKey || !allows(this.caller.grants, scope)))
      throw problem("unauthenticated", "this takes an API key");
  }
}

/** The fields of an object type that are operations, as GraphQL takes them. */
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
