/** The node link: what this node does for other nodes of its installation, only with the workers of its own machines. */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Balancer } from "../../balancing/balancer.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { isProblem, type Problem, problem } from "../../kernel/problem.ts";
import type { Logs } from "../../ports/logs/logs.ts";
import { type LogReaders, sharedBlocks } from "../../resources/logs/readers.ts";
import { podLog } from "../../resources/pods/model.ts";
import { workerLog } from "../../resources/workers/model.ts";
import type { WorkerRecords } from "../../resources/workers/records.ts";
import { EventStream } from "../http/events.ts";
import { endSoon } from "../http/last-words.ts";
import { problemJson } from "../http/problem-json.ts";
import { sendRefusal } from "../http/refusal.ts";
import { refusalText } from "../http/refusal-text.ts";
import type { Answering, Reply, Request } from "../http/reply.ts";
import type { Ahead } from "../http/server.ts";
import type { Credentials } from "../http/surface.ts";
import { dial } from "../proxy/connections.ts";
import { type NodePasses, PASS_HEADER } from "./pass.ts";
import { type Asked, askedBy, logQueryIn, POD, TUNNEL } from "./paths.ts";

export interface NodeLinkParts {
  /** This node's id. */
  node: string;
  /** The machines of this node. It acts only on their workers. */
  machines: readonly string[];
  passes: NodePasses;
  balancer: Balancer;
  records: WorkerRecords;
  logs: Logs;
  logReaders: LogReaders;
  clock: Clock;
  log: Log;
}

/** A peer that vanishes silently is noticed this soon. */
const KEEP_ALIVE_MS = 15_000;

/** A request without a pass is left to the routes, which treat it like any unknown path. */
export class NodeLink implements Ahead {
  readonly #parts: NodeLinkParts;
  readonly #tunnels = new Set<Duplex>();
  readonly #followers = new Set<AbortController>();

  constructor(parts: NodeLinkParts) {
    this.#parts = parts;
  }

  find(request: Credentials): Answering | undefined {
    const asked = this.#asked(request, "log");
    return asked && ((request, reply) => this.#answer(asked, request, reply));
  }

  mayUpgrade(request: Request): boolean {
    return request.headers.upgrade === TUNNEL && this.#asked(request, "connection") !== undefined;
  }

  upgrade(request: Request, socket: Duplex, head: Buffer): void {
    // The error is ignored: a close follows, and it says all that matters.
    socket.on("error", () => {});
    this.#tunnels.add(socket);
    socket.once("close", () => this.#tunnels.delete(socket));
    this.#connect(this.#asked(request, "connection")!, request, socket as Socket, head).catch((error) =>
      endSoon(socket, this.#parts.clock, refusalText(this.#asProblem(error))),
    );
  }

  /** Ends connections and logs, since they would not end by themselves. */
  close(): void {
    for (const socket of this.#tunnels) socket.destroy();
    for (const follower of this.#followers) follower.abort();
  }

  #asked({ url, method, headers }: Credentials, what: Asked["what"]): Asked | undefined {
    if (method !== "GET" || headers[PASS_HEADER] === undefined) return undefined;
    const asked = askedBy(url);
    return asked?.what === what ? asked : undefined;
  }

  /** A request is never passed on: a node that asks here for a worker of another node has asked the wrong one. */
  #admit({ node }: Asked, { method, url, headers }: Request): void {
    this.#parts.passes.check(method, url, String(headers[PASS_HEADER]));
    if (node !== this.#parts.node)
      throw problem("not-found", `this is node ${this.#parts.node}, and a request is passed on only once`);
  }

  async #connect(asked: Asked, request: Request, socket: Socket, head: Buffer): Promise<void> {
    this.#admit(asked, request);
    const slot = this.#parts.balancer.lend(asked.owner, asked.instance);
    try {
      const worker = await dial(slot.backend, this.#parts.clock).catch((error: Error) => {
        slot.refused(error.message);
        throw problem("no-answer", error.message, { cause: error });
      });
      await this.#join(socket, head, worker, slot.gone);
    } finally {
      slot.release();
    }
  }

  /** Resolves when both ends are closed. */
  async #join(socket: Socket, head: Buffer, worker: Duplex, gone: AbortSignal): Promise<void> {
    const cut = () => {
      worker.destroy();
      socket.destroy();
    };
    gone.addEventListener("abort", cut);
    if (gone.aborted || socket.destroyed) cut();
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${TUNNEL}\r\n\r\n`);
    if (head.length > 0) socket.unshift(head);
    await Promise.allSettled([pipeline(worker, socket), pipeline(socket, worker)]);
    gone.removeEventListener("abort", cut);
    cut();
  }

  async #answer(asked: Asked, request: Request, reply: Reply): Promise<void> {
    try {
      this.#admit(asked, request);
      await this.#follow(asked, reply);
    } catch (error) {
      const refusal = this.#asProblem(error);
      if (reply.raw.headersSent) return void reply.raw.destroy();
      sendRefusal(reply, refusal, problemJson(refusal));
    }
  }

  async #follow({ owner, instance, query }: Asked, reply: Reply): Promise<void> {
    const { logs, logReaders, clock } = this.#parts;
    const isPod = owner === POD;
    const stream = isPod ? podLog(instance) : workerLog(owner, instance);
    // A Pod's log is requested from the node where the Pod was last, even if it has no lines.
    if (!(isPod || (await logs.has(stream)) || (await this.#keeps(owner, instance))))
      throw problem("not-found", "worker not found");
    const from = logQueryIn(query);
    const following = new AbortController();
    const gone = following.signal;
    this.#followers.add(following);
    gone.addEventListener("abort", () => this.#followers.delete(following), { once: true });
    reply.raw.once("close", () => following.abort());
    if (reply.raw.destroyed) following.abort();
    // The asking node limits the readers per account. This node does not know the account, so it counts readers per log.
    const events = await logReaders.follow({ account: stream }, gone, linkEvents, async () =>
      logs.follow(stream, from, gone),
    );
    await new EventStream(events, { gone, clock, isHead: false }).send(reply);
  }

  /** A worker that has not written anything yet also counts. */
  async #keeps(owner: string, instance: string): Promise<boolean> {
    const doc = (await this.#parts.records.find(instance))?.doc;
    return doc?.owner === owner && doc.machine !== null && this.#parts.machines.includes(doc.machine);
  }

  #asProblem(error: unknown): Problem {
    if (isProblem(error)) return error;
    this.#parts.log.error({ err: error }, "unforeseen fault in the node link");
    return problem("fault", "An unexpected error occurred.");
  }
}

const linkEvents = sharedBlocks((line) => ({ id: `${line.sequence}`, data: line }));
