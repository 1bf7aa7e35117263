/** The ways into the networks of instances: one process for each instance that is connected to, and only a limited number of them. */
import { readlink } from "node:fs/promises";
import type { Clock } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import { ifNotThere } from "../../kernel/not-there.ts";
import { Dialer } from "./dialer.ts";

/** Each process takes 45 MB. Beyond this number the least recently used one ends. Its connections stay. */
const MOST_DIALERS = 32;

/** The instance's first process may end at any moment while others remain. */
const TRIES = 3;

/** A network, by the kernel's name for it, and the way into it. */
interface Inside {
  network: string;
  /** A process that runs now. The number of an ended process may belong to a program outside. */
  pid: number;
  dialer: Dialer;
}

export class Dialers {
  readonly #nsenter: string;
  readonly #clock: Clock;
  /** The key is the instance. The most recently used entry is the last. */
  readonly #insides = new Map<string, Inside>();

  constructor(nsenter: string, clock: Clock) {
    this.#nsenter = nsenter;
    this.#clock = clock;
  }

  /** `processes` returns the instance's current processes. */
  async dial(instance: string, processes: () => Promise<number[]>, place: { host: string; port: number }) {
    const { pid, network } = await this.#find(processes);
    return this.#dialer(instance, pid, network).dial(place.host, place.port);
  }

  /** Asks for the processes twice: if the number is still among them, it belonged to the instance all the time in between. */
  async #find(processes: () => Promise<number[]>): Promise<{ pid: number; network: string }> {
    for (let tries = 0; tries < TRIES; tries++) {
      const [pid] = await processes();
      const network = pid === undefined ? undefined : await networkOf(pid);
      if (network === undefined || !(await processes()).includes(pid!)) continue;
      // A program that is just starting is still in the machine's network, whose loopback is not the instance's.
      if (network !== (await networkOf("self"))) return { pid: pid!, network };
    }
    throw new Error("nothing runs in its network");
  }

  #dialer(instance: string, pid: number, network: string): Dialer {
    const known = this.#insides.get(instance);
    this.#insides.delete(instance);
    if (known && known.network !== network) this.#drop(known);
    const inside = known?.network === network ? Object.assign(known, { pid }) : this.#open(pid, network);
    this.#insides.set(instance, inside);
    return inside.dialer;
  }

  #open(pid: number, network: string): Inside {
    if (this.#insides.size >= MOST_DIALERS) this.#makeRoom();
    const enter = () => [this.#nsenter, `--net=/proc/${inside.pid}/ns/net`, "--"];
    const inside: Inside = { network, pid, dialer: new Dialer(enter, this.#clock, network) };
    return inside;
  }

  #makeRoom(): void {
    const unused = [...this.#insides].find(([, { dialer }]) => !dialer.isUsed);
    if (!unused) throw new Error(`connections to ${MOST_DIALERS} instances are being made on this machine: try again`);
    this.#insides.delete(unused[0]);
    this.#drop(unused[1]);
  }

  #drop({ dialer }: Inside): void {
    floating(dialer.close(), () => {});
  }

  /** Leaves the instance's network at once. */
  async close(instance: string): Promise<void> {
    const inside = this.#insides.get(instance);
    this.#insides.delete(instance);
    await inside?.dialer.close();
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#insides.keys()].map((instance) => this.close(instance)));
  }
}

/** Two processes are in the same network when these are equal. Undefined when the process is gone. */
const networkOf = (pid: number | "self") => readlink(`/proc/${pid}/ns/net`).catch(ifNotThere(undefined));
