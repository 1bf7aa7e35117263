/** The API of a server as verbs call it: operations by their data, errors in the server's own words, and streams of events. */
import type { Operation } from "@millrace/platform/kernel/operation.ts";
import { type Ask, requestPath } from "@millrace/platform/kernel/request-path.ts";
import type { Static, TSchema } from "@millrace/platform/kernel/schema.ts";
import { Failure, Refusal } from "./failure.ts";
import { type Received, request, type Sent, textOf } from "./http.ts";
import { findTarget, type Target, type TargetOptions } from "./profiles.ts";
import type { Environment } from "./shell.ts";

/** The parts of an operation that a request needs. */
export type Called = Pick<Operation, "method" | "path"> & { out?: TSchema };

type AnswerTo<O> = O extends { out: infer Out extends TSchema } ? Static<Out> : unknown;

export interface ServerEvent {
  id: string | undefined;
  event: string | undefined;
  data: unknown;
}

interface CallOptions {
  signal?: AbortSignal | undefined;
  /** How long the server may take for its answer. */
  silenceMs?: number;
}

export class ApiClient {
  readonly target: Target;

  constructor(target: Target) {
    this.target = target;
  }

  /** For the server that flags, variables, a profile or this machine name. */
  static async open(options: TargetOptions, env: Environment): Promise<ApiClient> {
    return new ApiClient(await findTarget(options, env));
  }

  /** Calls an operation. An answer without a body is undefined. */
  async call<O extends Called>(operation: O, ask: Ask = {}, options: CallOptions = {}): Promise<AnswerTo<O>> {
    const sent: Sent = { method: operation.method, ...options };
    if (ask.body !== undefined) {
      sent.body = JSON.stringify(ask.body);
      sent.headers = { "content-type": "application/json", "content-length": Buffer.byteLength(sent.body) };
    }
    const answer = await this.send(requestPath(operation.path, ask), sent);
    const text = await textOf(answer);
    return (text === "" ? undefined : this.#parsed(text)) as AnswerTo<O>;
  }

  /** Sends a request below the server's address. Throws unless the server answers with success. */
  async send(path: string, { headers, ...sent }: Sent = {}): Promise<Received> {
    const { url, key } = this.target;
    const answer = await request(new URL(url + path), {
      ...sent,
      headers: { ...headers, ...(key !== "" && { authorization: `Bearer ${key}` }) },
    });
    if (answer.status < 200 || answer.status > 299) throw await this.#refusal(answer);
    return answer;
  }

  /** Follows a stream of server-sent events until it ends, or `signal` aborts. */
  async *events(
    path: string,
    { signal, lastEventId }: { signal?: AbortSignal | undefined; lastEventId?: string | undefined } = {},
  ): AsyncGenerator<ServerEvent> {
    const headers = { accept: "text/event-stream", ...(lastEventId !== undefined && { "last-event-id": lastEventId }) };
    const { body } = await this.send(path, { headers, signal, silenceMs: 0 });
    const { createParser } = await import("eventsource-parser");
    const heard: ServerEvent[] = [];
    const parser = createParser({
      onEvent: ({ id, event, data }) => {
        heard.push({ id, event, data: this.#parsed(data) });
      },
    });
    body.setEncoding("utf8");
    try {
      for await (const text of body as AsyncIterable<string>) {
        parser.feed(text);
        yield* heard.splice(0);
      }
    } catch (error) {
      if (!signal?.aborted)
        throw new Failure(`the connection to ${this.target.url} broke: ${(error as Error).message}`);
    } finally {
      body.destroy();
    }
  }

  #parsed(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch {
      throw new Failure(`${this.target.url} did not answer as a server of Millrace does. Check the address.`);
    }
  }

  async #refusal(answer: Received): Promise<Refusal> {
    const { url, from, key } = this.target;
    const { status } = answer;
    const said = problemIn(await textOf(answer).catch(() => ""));
    const code = answer.headers["x-reason-code"] as string | undefined;
    const { detail } = said;
    if (detail === undefined)
      return new Refusal(`${url} answered ${status}, and not as a server of Millrace does. Check the address.`, {
        status,
        code,
      });
    const why = status === 401 && key !== "" ? `${url} refused the key of ${from}: ${detail}` : detail;
    const remedy = status === 401 ? `Sign in again: millrace login ${url}` : await remedyOf(code);
    return new Refusal(why, { status, code, errors: [...(said.errors ?? []), ...(remedy ? [remedy] : [])] });
  }
}

interface Said {
  detail?: string;
  errors?: string[];
}

function problemIn(text: string): Said {
  try {
    const { detail, message, error, errors } = JSON.parse(text);
    const told = detail ?? message ?? error?.message ?? error;
    return { ...(typeof told === "string" && { detail: told }), ...(Array.isArray(errors) && { errors }) };
  } catch {
    return {};
  }
}

/** What the catalogue of reasons advises. A general code advises nothing that the server's sentence does not say. */
async function remedyOf(code: string | undefined): Promise<string | undefined> {
  const { meanings } = await import("@millrace/platform/kernel/problem.ts");
  if (code === undefined || code in meanings) return undefined;
  const { reasonTables } = await import("@millrace/platform/kernel/reason.ts");
  const tables: Record<string, Record<string, { remedy: string }>> = reasonTables;
  return Object.values(tables).find((table) => code in table)?.[code]?.remedy;
}
