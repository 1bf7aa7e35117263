/** Calls of the public API by the name of an operation: path, method and types come from the contract. */
import type { invokeOperations, operations } from "@millrace/platform/contract.ts";
import { type Ask as AnyAsk, requestPath } from "@millrace/platform/kernel/request-path.ts";
import type { Static, TObject, TSchema } from "@millrace/platform/kernel/schema.ts";
import { calls } from "./calls.data.ts";
import { takeEarly } from "./early.ts";
import { isExact, parseExact } from "./exact-json.ts";
import { RatePause } from "./rate-pause.ts";
import { Refusal } from "./refusal.ts";
import { noticeLostSession, sessionHeaders } from "./session.ts";

type All = typeof operations & typeof invokeOperations;
export type OperationName = keyof All;

type ParameterOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterOf<Rest>
  : never;
type WithParams<O> = O extends { path: infer Path extends string }
  ? string extends Path
    ? { params?: Record<string, string> }
    : [ParameterOf<Path>] extends [never]
      ? { params?: undefined }
      : { params: Record<ParameterOf<Path>, string> }
  : never;
type WithQuery<O> = O extends { query: infer Q extends TObject }
  ? { query?: Partial<Static<Q>> }
  : { query?: undefined };
type WithBody<O> = O extends { in: infer B extends TSchema } ? { body: Static<B> } : { body?: unknown };

type AskOf<O> = WithParams<O> & WithQuery<O> & WithBody<O>;
/** An interface, so that the compiler looks up one operation. Otherwise it combines the parts of all of them, which are too many. */
interface Asks extends Readonly<{ [Name in OperationName]: AskOf<All[Name]> }> {}
export type Ask<Name extends OperationName> = Asks[Name];
export type Answer<Name extends OperationName> = All[Name] extends { out: infer Out extends TSchema }
  ? Static<Out>
  : undefined;

/** A call as data: the same is sent, shown as curl, and used as the key of the cache. */
export type { AnyAsk };

export const addressOf = (name: OperationName, ask: AnyAsk): string => requestPath(calls[name]!.path, ask);

export function call<Name extends OperationName>(
  name: Name,
  ask: Ask<Name>,
  signal?: AbortSignal,
): Promise<Answer<Name>> {
  return callAny(name, ask as AnyAsk, signal) as Promise<Answer<Name>>;
}

/** For parts that work with any operation: the union of all their types would cost the compiler half a minute. */
export async function callAny(name: OperationName, ask: AnyAsk, signal?: AbortSignal): Promise<unknown> {
  const { method } = calls[name]!;
  const answer = await send(addressOf(name, ask), { method, body: ask.body, signal });
  if (answer.status === 204) return undefined;
  return isExact(name) ? parseExact(await answer.text()) : answer.json();
}

interface Sent {
  method: string;
  body?: unknown;
  /** JSON that is sent as somebody typed it, in the place of a body. */
  text?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

const ratePause = new RatePause(
  typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel("millrace.rate"),
);

/** A read that comes too often waits as long as the server says, and is sent once more. */
export async function send(address: string, sent: Sent): Promise<Response> {
  const isRead = sent.method === "GET";
  if (isRead) await ratePause.over(sent.signal);
  let answer = await sendForAny(address, sent);
  if (isRead && answer.status === 429 && ratePause.begin(answer)) {
    await ratePause.over(sent.signal);
    answer = await sendForAny(address, sent);
  }
  noticeLostSession(answer);
  if (!answer.ok) throw await Refusal.from(answer);
  return answer;
}

/**
 * Any answer is taken, for calls whose refusals are those of a worker. The session authenticates the caller, so no API key is ever in the
 * hands of the page.
 */
export async function sendForAny(address: string, { method, body, text, headers, signal }: Sent): Promise<Response> {
  const content = text ?? (body === undefined ? undefined : JSON.stringify(body));
  const early = method === "GET" ? takeEarly(address, signal) : undefined;
  const answer =
    early ??
    fetch(address, {
      method,
      signal: signal ?? null,
      headers: {
        ...sessionHeaders(),
        ...(content !== undefined && { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(content !== undefined && { body: content }),
    });
  return answer.catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw Refusal.unreachable();
  });
}
