/** Reaches the programs of Pods: through the driver of a machine of this node, or through the node that has them. */
import type { Duplex } from "node:stream";
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { problem } from "../../kernel/problem.ts";
import { Remembered } from "../../kernel/remembered.ts";
import type { OwnMachine } from "../../machines/own-machine.ts";
import { hasHttpPort } from "../../resources/pods/links.ts";
import type { PodItem, PodRecords } from "../../resources/pods/records.ts";
import { NOT_HERE } from "./pod-access.ts";
import type { Reached } from "./receiver.ts";

export interface PodPortsParts {
  podRecords: PodRecords;
  clock: Clock;
  own: readonly Pick<OwnMachine, "id" | "compute">[];
  /** Reaches instances on other nodes' machines; absent if there are none. */
  elsewhere?: { dial(machine: string, instance: string, port: number): Promise<Duplex> } | undefined;
}

interface Running {
  account: string;
  pod: PodItem;
  machine: string;
  instance: string;
}

/** A change made by another node is noticed within this time. */
const REMEMBERED_MS = 1000;
/** Beyond this many, the oldest connections are not kept, and are opened again when needed. */
const MOST_KEPT = 1000;

export class PodPorts {
  readonly #parts: PodPortsParts;
  readonly #running: Remembered<Running>;
  /** The oldest comes first. */
  readonly #backends = new Map<string, Reached>();

  constructor(parts: PodPortsParts) {
    this.#parts = parts;
    this.#running = new Remembered(parts.clock, REMEMBERED_MS);
  }

  /** Finds the backend for a caller who may know of it; a Pod's key sees only that Pod. Throws the problem if nothing can be reached. */
  async backendOf({ account, pod: self }: Caller, pod: string, port: number): Promise<Reached> {
    if (self !== undefined && self !== pod) throw problem("not-found", NOT_HERE);
    const running = this.#running.get(pod) ?? (await this.#look(account, pod, port));
    if (running.account !== account || !hasHttpPort(running.pod.doc, port)) throw problem("not-found", NOT_HERE);
    return this.#backend(running, port);
  }

  /** Opens a connection to an HTTP port of an account's Pod. */
  async dialFor(account: string, pod: string, port: number): Promise<Duplex> {
    const { machine, instance } = await this.#look(account, pod, port);
    return this.#dial(machine, instance, port);
  }

  /** Forgets where a Pod was, after that led nowhere. */
  forget(pod: string): void {
    this.#running.delete(pod);
  }

  async #look(account: string, id: string, port: number): Promise<Running> {
    const { podRecords } = this.#parts;
    const pod = await podRecords.pods.get(id);
    if (pod?.account !== account || !hasHttpPort(pod.doc, port)) throw problem("not-found", NOT_HERE);
    const { status, reason, instance, last } = pod.doc;
    if (status !== "RUNNING" || instance === null || !last)
      throw problem("no-answer", `Pod ${id} is ${status}${reason === null ? "" : `: ${reason.text}`}`, {
        reason: "not-running",
      });
    const running = { account, pod, machine: last.machine, instance };
    this.#running.set(id, running);
    return running;
  }

  #backend({ instance, machine }: Running, port: number): Reached {
    const name = nameOf(instance, port);
    const known = this.#backends.get(name);
    if (known) return known;
    const backend = { dial: () => this.#dial(machine, instance, port) };
    this.#backends.set(name, backend);
    const [oldest] = this.#backends.keys();
    if (this.#backends.size > MOST_KEPT) this.#backends.delete(oldest!);
    return backend;
  }

  async #dial(machine: string, instance: string, port: number): Promise<Duplex> {
    const { own, elsewhere } = this.#parts;
    const here = own.find(({ id }) => id === machine);
    if (here) return here.compute.dial(instance, port);
    if (elsewhere) return elsewhere.dial(machine, instance, port);
    throw problem("no-answer", `machine ${machine} is not here`);
  }
}

const nameOf = (instance: string, port: number) => `${instance} ${port}`;
