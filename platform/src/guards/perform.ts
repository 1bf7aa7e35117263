/** Performs an operation for any surface: checks rights and input, calls the handler, and keeps the audit log. */
import type { IncomingBytes } from "../kernel/bytes.ts";
import type { Caller } from "../kernel/caller.ts";
import type { Browser, Call, Following, Handlers, Operation, Operations } from "../kernel/operation.ts";
import { isProblem, problem } from "../kernel/problem.ts";
import { withoutUnsetNulls } from "../kernel/unset-nulls.ts";
import { assertValid, failures } from "../kernel/validate.ts";
import { type Auditing, deedOf, isChange, isUpdate, madeBy, sentIn } from "./deeds.ts";
import { withInstead } from "./instead.ts";
import { requireFields, requireOperation } from "./scopes.ts";

export interface Input {
  params?: Record<string, string>;
  /** Each value in its own type. */
  query?: () => Record<string, unknown>;
  /** Called once the caller is known to be allowed, and only if the operation takes a body. */
  body?: () => unknown;
  /** For an operation that starts or ends sessions. */
  browser?: Browser;
  /** For an operation that answers with events. */
  following?: Following;
  /** For an operation that takes bytes as they are. Called once the caller is known to be allowed. */
  incoming?: (() => IncomingBytes) | undefined;
}

/** A body that was already validated against the operation's schema when it was read. */
export class ValidBody {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}

/** Does the work of an operation after all checks. */
export type Handler = (call: Call) => Promise<unknown>;

/** Operations with their handlers. */
export interface Answered {
  operations: Operations;
  handlers: Readonly<Record<string, Handler>>;
  /** The operations need no key. */
  isOpen?: boolean;
}

/** The compiler demands a handler for each operation, with the answer that the operation declares. */
export function answered<O extends Operations>(operations: O, handlers: Handlers<O>): Answered {
  return { operations, handlers: handlers as unknown as Answered["handlers"] };
}

/** The same for operations that need no key. */
export function openlyAnswered<O extends Operations>(operations: O, handlers: Handlers<O>): Answered {
  return { ...answered(operations, handlers), isOpen: true };
}

/** Performs operations of one resource by name for a fixed caller, such as a command of the owner. */
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

/** Changes are written to the audit log, and so are refusals for missing rights. An update that changes nothing is not. */
export async function perform(
  operation: Operation,
  handler: Handler,
  caller: Caller,
  input: Input,
  auditing: Auditing,
): Promise<unknown> {
  // Only the handler knows in which account a person signs in, so it writes the audit entry itself.
  if (!isChange(operation) || operation.who === "anybody") return handler(await allowed(operation, caller, input));
  const { audit } = auditing;
  const deed = deedOf(operation, caller, input.params ?? {}, auditing);
  const call = await allowed(operation, caller, input).catch(async (refusal: unknown) => {
    if (isProblem(refusal, "not-allowed")) await audit.refused(deed, refusal.code);
    throw refusal;
  });
  const { isOutside: whenBegun = false } = operation;
  const how = { madeIn: madeBy(operation), onlyChanges: isUpdate(operation), whenBegun };
  return audit.record(
    { ...deed, ...sentIn(operation, call.body) },
    (begin) => handler(whenBegun ? ({ ...call, begin } as Call) : call),
    how,
  );
}

async function allowed(operation: Operation, caller: Caller, input: Input): Promise<Call> {
  requireOperation(caller, operation);
  const query = operation.query ? assertValid(operation.query, input.query?.() ?? {}) : {};
  const body = operation.in && (await bodyOf(operation, input));
  requireFields(caller, operation, body);
  const { browser } = input;
  const incoming = input.incoming && { incoming: input.incoming() };
  return { caller, params: input.params ?? {}, query, body, ...input.following, browser, ...incoming } as Call;
}

async function bodyOf({ path, in: schema }: Operation, { body }: Input): Promise<unknown> {
  const given = await body?.();
  if (given instanceof ValidBody) return withoutUnsetNulls(schema!, given.value);
  const errors = failures(schema!, given).map((failure) => withInstead(path, given, failure));
  if (errors.length > 0) throw problem("invalid", "Request validation failed.", { errors });
  return withoutUnsetNulls(schema!, given);
}
