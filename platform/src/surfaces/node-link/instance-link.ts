/** The part of the node link for instances of any kind: a connection to one of their ports, or one more program in them. */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { isProblem, type Problem, problem } from "../../kernel/problem.ts";
import type { InstanceRecords } from "../../machines/instance-records.ts";
import type { InstanceSite, OwnExecutions } from "../../machines/own-executions.ts";
import type { OwnMachine } from "../../machines/own-machine.ts";
import type { Compute } from "../../ports/compute/compute.ts";
import { dialLoopback } from "../../ports/compute/dial-loopback.ts";
import { endSoon } from "../http/last-words.ts";
import { refusalText } from "../http/refusal-text.ts";
import type { Request } from "../http/reply.ts";
import type { Ahead } from "../http/server.ts";
import { serveExecution } from "./exec-served.ts";
import { type NodePasses, PASS_HEADER } from "./pass.ts";
import { type InstanceAsked, instanceAskedBy, PROTOCOLS } from "./paths.ts";

export interface InstanceLinkParts {
  /** This node's id. */
  node: string;
  /** The machines of this node. It acts only on their instances. */
  own: readonly Pick<OwnMachine, "id" | "compute">[];
  executions: OwnExecutions;
  instances: InstanceRecords;
  passes: NodePasses;
  clock: Clock;
  log: Log;
  /** Records that a port of the instance's owner is in use, until disposed. */
  used: (owner: string) => Disposable;
}

/** A peer that vanishes silently is noticed this soon. */
const KEEP_ALIVE_MS = 15_000;

/** A request without a pass is left to the routes, which treat it like any unknown path. */
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
    // The error is ignored: a close follows, and it says all that matters.
    socket.on("error", () => {});
    this.#connections.add(socket);
    socket.once("close", () => this.#connections.delete(socket));
    this.#serve(this.#asked(request)!, request, socket as Socket, head).catch((error) =>
      endSoon(socket, this.#parts.clock, refusalText(this.#asProblem(error))),
    );
  }

  /** Ends the connections, since they would not end by themselves. */
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
      // A violation of the protocol ends this connection and nothing else.
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

  /** Looks the instance up in the record, whatever the asking node believes. Only instances on a machine of this node are found. */
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
