/** How an operation is done, whichever surface asks for it: may the caller, is what they say valid, and then the handler, on the record. */
import type { Caller } from "../kernel/caller.ts";
import type { Call, Following, Handlers, Operation, Operations } from "../kernel/operation.ts";
import { isProblem, problem } from "../kernel/problem.ts";
import { assertValid, failures } from "../kernel/validate.ts";
import { type Auditing, deedOf, isChange, isUpdate, madeBy, sentIn } from "./deeds.ts";
import { withInstead } from "./instead.ts";
import { requireFields, requireOperation } from "./scopes.ts";

export interface Input {
  params?: Record<string, string>;
  /** Each in its own type. */
  query?: () => Record<string, unknown>;
  /** Asked for once the caller is known to be allowed, and by an operation that takes one alone. */
  body?: () => unknown;
  /** For an operation that answers with events. */
  following?: Following;
}

/** A body that was held to the operation's schema where it was read. */
export class ValidBody {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}

/** Does what an operation says, once it was checked that it may be done. */
export type Handler = (call: Call) => Promise<unknown>;

/** Operations together with what does them. */
export interface Answered {
  operations: Operations;
  handlers: Readonly<Record<string, Handler>>;
}

/** The compiler asks for a handler of each operation, which answers what the operation says. */
export function answered<O extends Operations>(operations: O, handlers: Handlers<O>): Answered {
  return { operations, handlers: handlers as unknown as Answered["handlers"] };
}

/** Does operations of one resource by their names, for a caller who is known once and for all, such as a command of the owner. */
export function performer<O extends Operations>(
  operations: O,
  handlers: Handlers<O>,
  caller: Caller,
  audit: Auditing["audit"],
) {
  return <Name extends keyof O & string>(name: Name, input: Input = {}): ReturnType<Handlers<O>[Name]> => {
    const handler = handlers[name] as unknown as Handler;
    return perform(operations[name]!, handler, caller, input, { audit, name }) as ReturnType<Handlers<O>[Name]>;
  };
}

/** What changes something is written down, and so is its refusal for a lack of rights. An update by what was so already changes nothing. */
export async function perform(
  operation: Operation,
  handler: Handler,
  caller: Caller,
  input: Input,
  auditing: Auditing,
): Promise<unknown> {
  if (!isChange(operation)) return handler(await allowed(operation, caller, input));
  const { audit } = auditing;
  const deed = deedOf(operation, caller, input.params ?? {}, auditing);
  const call = await allowed(operation, caller, input).catch(async (refusal: unknown) => {
    if (isProblem(refusal, "not-allowed")) await audit.refused(deed, refusal.code);
    throw refusal;
  });
  const how = { madeIn: madeBy(operation), onlyChanges: isUpdate(operation) };
  return audit.record({ ...deed, ...sentIn(operation, call.body) }, () => handler(call), how);
}

async function allowed(operation: Operation, caller: Caller, input: Input): Promise<Call> {
  requireOperation(caller, operation);
  const query = operation.query ? assertValid(operation.query, input.query?.() ?? {}) : {};
  const body = operation.in && (await bodyOf(operation, input));
  requireFields(caller, operation, body);
  return { caller, params: input.params ?? {}, query, body, ...input.following } as Call;
}

async function bodyOf({ path, in: schema }: Operation, { body }: Input): Promise<unknown> {
  const given = await body?.();
  if (given instanceof ValidBody) return given.value;
  const errors = failures(schema!, given).map((failure) => withInstead(path, given, failure));
  if (errors.length > 0) throw problem("invalid", "Request validation failed.", { errors });
  return given;
}
