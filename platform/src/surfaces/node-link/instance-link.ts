/** The part of the node link that is about instances, of whatever kind: a connection to a port of one, or a further program in it. */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Log } from "../../kernel/log.ts";
import { isProblem, type Problem, problem } from "../../kernel/problem.ts";
import type { InstanceRecords } from "../../machines/instance-records.ts";
import type { InstanceSite, OwnExecutions } from "../../machines/own-executions.ts";
import type { OwnMachine } from "../../machines/own-machine.ts";
import type { Compute } from "../../ports/compute/compute.ts";
import { dialLoopback } from "../../ports/compute/dial-loopback.ts";
import { refusalText } from "../http/refusal-text.ts";
import type { Request } from "../http/reply.ts";
import type { Ahead } from "../http/server.ts";
import { serveExecution } from "./exec-served.ts";
import { type NodePasses, PASS_HEADER } from "./pass.ts";
import { type InstanceAsked, instanceAskedBy, PROTOCOLS } from "./paths.ts";

export interface InstanceLinkParts {
  /** Who this node is. */
  node: string;
  /** The machines whose instances this node acts on. */
  own: readonly Pick<OwnMachine, "id" | "compute">[];
  executions: OwnExecutions;
  instances: InstanceRecords;
  passes: NodePasses;
  log: Log;
  /** Notes that somebody uses a port of what an instance runs for, until it is disposed. */
  used: (owner: string) => Disposable;
}

/** How soon the other end's going away without a word is noticed. */
const KEEP_ALIVE_MS = 15_000;

/** A request without a pass is nobody's here: it is left to the routes, and finds there what any unknown path finds. */
export class InstanceLink implements Ahead {
  readonly #parts: InstanceLinkParts;
  readonly #connections = new Set<Duplex>();

  constructor(parts: InstanceLinkParts) {
    this.#parts = parts;
  }

  find(): undefined {
    return undefined;
  }

  mayUpgrade(request: Request): boolean {
    const asked = this.#asked(request);
    return asked !== undefined && request.headers.upgrade === PROTOCOLS[asked.what];
  }

  upgrade(request: Request, socket: Duplex, head: Buffer): void {
    // Its close follows, and says all that matters.
    socket.on("error", () => {});
    this.#connections.add(socket);
    socket.once("close", () => this.#connections.delete(socket));
    this.#serve(this.#asked(request)!, request, socket as Socket, head).catch((error) =>
      socket.end(refusalText(this.#asProblem(error))),
    );
  }

  /** Connections have no end that one could wait for. */
  close(): void {
    for (const socket of this.#connections) socket.destroy();
  }

  #asked({ url, method, headers }: Request): InstanceAsked | undefined {
    return method === "GET" && headers[PASS_HEADER] !== undefined ? instanceAskedBy(url) : undefined;
  }

  async #serve(asked: InstanceAsked, { method, url, headers }: Request, socket: Socket, head: Buffer): Promise<void> {
    const { node, instance, what } = asked;
    this.#parts.passes.check(method, url, String(headers[PASS_HEADER]));
    if (node !== this.#parts.node)
      throw problem("not-found", `this is node ${this.#parts.node}, and a request is passed on only once`);
    const { compute, site } = await this.#find(instance);
    const begin = () => {
      socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${PROTOCOLS[what]}\r\n\r\n`);
      if (head.length > 0) socket.unshift(head);
    };
    if (what === "exec") {
      begin();
      // What it says that is none of this protocol ends the connection, and nothing else.
      return serveExecution(socket, (spec) => this.#parts.executions.exec(site, spec)).catch(() => {});
    }
    const dialled = asked.what === "port" ? compute.dial(instance, asked.port) : dialLoopback(compute, instance, asked);
    const inside = await dialled.catch((error: Error) => {
      throw problem("no-answer", error.message, { cause: error });
    });
    begin();
    using _ = this.#parts.used(site.owner);
    await Promise.allSettled([pipeline(inside, socket), pipeline(socket, inside)]);
    for (const end of [inside, socket]) end.destroy();
  }

  /** Whatever the asking node believes: only what the record says is on a machine of this node. */
  async #find(instance: string): Promise<{ compute: Compute; site: InstanceSite }> {
    const item = await this.#parts.instances.find(instance);
    const doc = item?.doc;
    const own = this.#parts.own.find(({ id }) => id === doc?.machine);
    if (!own || !item || !doc)
      throw problem("not-found", `instance ${instance} is not here, and a request is passed on only once`);
    return { compute: own.compute, site: { account: item.account, machine: own.id, instance, owner: doc.owner } };
  }

  #asProblem(error: unknown): Problem {
    if (isProblem(error)) return error;
    this.#parts.log.error({ err: error }, "unforeseen fault in the node link");
    return problem("fault", "An unexpected error occurred.");
  }
}
