/** Requests that this node sends to other nodes, for a connection to a worker or for its log. Each carries a pass of its own. */
import { request as askPlainly, type ClientRequest, type IncomingMessage } from "node:http";
import { request as askSecurely } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../../kernel/clock.ts";
import { isProblem, type Problem, problem } from "../../kernel/problem.ts";
import { isReasonCode } from "../../kernel/reason.ts";
import type { Peer } from "../../machines/machines.ts";
import type { ExecSpec, Execution } from "../../ports/compute/execution.ts";
import type { LoopbackTarget } from "../../ports/compute/loopback.ts";
import type { LogLine, Query } from "../../ports/logs/logs.ts";
import { KEEP_ALIVE_MS } from "../http/events.ts";
import { REASON_HEADER } from "../http/refusal.ts";
import { beginElsewhere } from "./exec-elsewhere.ts";
import { type NodePasses, PASS_HEADER } from "./pass.ts";
import { instancePathOf, type ModelAsked, modelPathOf, PROTOCOLS, pathOf, TUNNEL } from "./paths.ts";

export type Called = Pick<Peer, "id" | "url">;

/** A node that has not answered by then counts as unreachable. */
const ANSWER_MS = 5000;
/** A node that follows a log for us also counts as unreachable when it sends nothing, not even a keep-alive, for this long. */
const QUIET_MS = 3 * KEEP_ALIVE_MS;
/** The rest of a longer refusal is not read. */
const LONGEST_REFUSAL = 16_384;

interface Answer {
  response: IncomingMessage;
  /** Set only if the node agreed to leave HTTP. */
  socket?: Socket;
}

export class NodeCalls {
  readonly #clock: Clock;
  readonly #passes: NodePasses;

  constructor({ clock, passes }: { clock: Clock; passes: NodePasses }) {
    this.#clock = clock;
    this.#passes = passes;
  }

  /** Opens a connection to the port on which a worker's application listens. */
  async dial(peer: Called, endpoint: string, worker: string): Promise<Duplex> {
    const asked = { node: peer.id, instance: worker, owner: endpoint, what: "connection" } as const;
    return this.#upgrade(peer, pathOf(asked), TUNNEL);
  }

  /** Opens a connection to a port of an instance. */
  async dialInstance(peer: Called, instance: string, port: number): Promise<Duplex> {
    return this.#upgrade(peer, instancePathOf({ node: peer.id, instance, what: "port", port }), PROTOCOLS.port);
  }

  /** Opens a connection to the loopback of an instance. */
  async dialLoopback(peer: Called, instance: string, { port, host }: LoopbackTarget): Promise<Duplex> {
    const asked = { node: peer.id, instance, what: "loopback", port, ...(host !== undefined && { host }) } as const;
    return this.#upgrade(peer, instancePathOf(asked), PROTOCOLS.loopback);
  }

  /** Starts one more program in an instance. Throws ExecRefused. */
  async exec(peer: Called, instance: string, spec: ExecSpec): Promise<Execution> {
    const path = instancePathOf({ node: peer.id, instance, what: "exec" });
    return beginElsewhere(await this.#upgrade(peer, path, PROTOCOLS.exec), spec, this.#clock);
  }

  async #upgrade(peer: Called, path: string, protocol: string): Promise<Socket> {
    const { response, socket } = await this.#ask(peer, path, { headers: { connection: "Upgrade", upgrade: protocol } });
    if (!socket) throw await refusalIn(peer, response);
    return socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
  }

  /** Resolves once the other node has found the log. The lines end when the signal aborts. */
  async follow(
    peer: Called,
    endpoint: string,
    worker: string,
    { query, gone }: { query: Query; gone: AbortSignal },
  ): Promise<AsyncIterable<LogLine[]>> {
    const search = new URLSearchParams({ from: JSON.stringify(query) });
    const asked = { node: peer.id, instance: worker, owner: endpoint, what: "log", query: search } as const;
    const { response } = await this.#ask(peer, pathOf(asked), { signal: gone });
    if (response.statusCode !== 200) throw await refusalIn(peer, response);
    return this.#lines(peer, response, { gone, endsNow: query.endsNow === true });
  }

  /** Reads a copy of a model: the list of its files, or one of them. */
  async *model(peer: Called, asked: ModelAsked): AsyncGenerator<Uint8Array> {
    const { response } = await this.#ask(peer, modelPathOf(asked), {});
    if (response.statusCode !== 200) throw await refusalIn(peer, response);
    const late = () => void response.destroy(new Error(`nothing came for ${QUIET_MS / 1000} s`));
    let quiet = this.#clock.after(QUIET_MS, late);
    try {
      for await (const chunk of response) {
        quiet.cancel();
        yield chunk as Buffer;
        quiet = this.#clock.after(QUIET_MS, late);
      }
      if (!response.complete) throw problem("no-answer", `node ${peer.id} has ended`, { reason: "node-away" });
    } catch (error) {
      throw unreachable(peer, error as Error);
    } finally {
      quiet.cancel();
      response.destroy();
    }
  }

  async *#lines(
    peer: Called,
    response: IncomingMessage,
    { gone, endsNow }: { gone: AbortSignal; endsNow: boolean },
  ): AsyncGenerator<LogLine[]> {
    const late = () => void response.destroy(new Error(`nothing came for ${QUIET_MS / 1000} s`));
    let quiet = this.#clock.after(QUIET_MS, late);
    let text = "";
    try {
      for await (const chunk of response.setEncoding("utf8")) {
        quiet.cancel();
        quiet = this.#clock.after(QUIET_MS, late);
        text += chunk;
        const end = text.lastIndexOf("\n\n");
        const lines = linesIn(text.slice(0, Math.max(0, end)));
        text = text.slice(end < 0 ? 0 : end + 2);
        if (lines.length > 0) yield lines;
      }
      // A log that is followed ends with its reader, or with the node.
      if (!endsNow && !gone.aborted) throw problem("no-answer", `node ${peer.id} has ended`, { reason: "node-away" });
    } catch (error) {
      if (!gone.aborted) throw unreachable(peer, error as Error);
    } finally {
      quiet.cancel();
    }
  }

  async #ask(
    peer: Called,
    path: string,
    { headers = {}, signal }: { headers?: Record<string, string>; signal?: AbortSignal },
  ): Promise<Answer> {
    if (peer.url === undefined) throw unreachable(peer, new Error("its node has told no address"));
    const { origin, protocol } = new URL(peer.url);
    const pass = this.#passes.issue("GET", path);
    const ask = protocol === "https:" ? askSecurely : askPlainly;
    // A connection that becomes a worker's cannot be reused, and a log never ends. So there is no agent.
    const request = ask(origin + path, { agent: false, signal, headers: { ...headers, [PASS_HEADER]: pass } });
    const late = () => void request.destroy(new Error(`no answer in ${ANSWER_MS / 1000} s`));
    const timer = this.#clock.after(ANSWER_MS, late);
    try {
      return await answerTo(request);
    } catch (error) {
      throw unreachable(peer, error as Error);
    } finally {
      timer.cancel();
    }
  }
}

function answerTo(request: ClientRequest): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  request
    .once("response", (response) => resolve({ response }))
    .once("upgrade", (response, socket, head) => {
      if (head.length > 0) socket.unshift(head);
      resolve({ response, socket: socket as Socket });
    })
    // This also runs when the answer breaks off later. Its reader is told as well.
    .on("error", reject)
    .end();
  return promise;
}

function linesIn(text: string): LogLine[] {
  const lines = text.split("\n").filter((line) => line.startsWith("data: "));
  return lines.map((line) => JSON.parse(line.slice("data: ".length)));
}

/** The refusal of a node that was reached. If another program answers at its address, only the status is reported. */
async function refusalIn({ id }: Called, response: IncomingMessage): Promise<Problem> {
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) if (text.length < LONGEST_REFUSAL) text += chunk;
  const detail = detailIn(text) ?? `it answered ${response.statusCode}`;
  const code = response.statusCode === 404 ? "not-found" : "no-answer";
  const [told = ""] = [response.headers[REASON_HEADER.toLowerCase()] ?? ""].flat();
  return problem(code, `node ${id}: ${detail}`, isReasonCode(told) ? { reason: told } : {});
}

function detailIn(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { detail?: string }).detail;
  } catch {
    return undefined;
  }
}

/** The caller learns only which node it is. The operator finds its address in the record. */
function unreachable({ id }: Called, error: Error): Problem {
  if (isProblem(error)) return error;
  return problem("no-answer", `node ${id} is not reachable: ${reasonOf(error)}`, { cause: error, reason: "node-away" });
}

/** Some connection errors have only a code. */
const reasonOf = (error: NodeJS.ErrnoException) => error.code ?? error.message;
