/** The ways into the networks of instances: a process for each that somebody connects to, of which only so many stay. */
import { readlink } from "node:fs/promises";
import type { Clock } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import { ifNotThere } from "../../kernel/not-there.ts";
import { Dialer } from "./dialer.ts";

/** Each takes 45 MB: beyond so many, the one that was used the longest ago goes. Connections that it made stay. */
const MOST_DIALERS = 32;

/** The first of its processes may end at any moment, and leave others. */
const TRIES = 3;

/** A network, by the name that the kernel has for it, and the way into it. */
interface Inside {
  network: string;
  /** A process that is there now: the number of one that has ended may be that of a program outside. */
  pid: number;
  dialer: Dialer;
}

export class Dialers {
  readonly #nsenter: string;
  readonly #clock: Clock;
  /** By the instance; the one that was used last is the last. */
  readonly #insides = new Map<string, Inside>();

  constructor(nsenter: string, clock: Clock) {
    this.#nsenter = nsenter;
    this.#clock = clock;
  }

  /** `processes` gives those of the instance that are there now. */
  async dial(instance: string, processes: () => Promise<number[]>, place: { host: string; port: number }) {
    const { pid, network } = await this.#find(processes);
    return this.#dialer(instance, pid, network).dial(place.host, place.port);
  }

  /** Processes are asked for twice: whatever had that number in between is the instance's. */
  async #find(processes: () => Promise<number[]>): Promise<{ pid: number; network: string }> {
    for (let tries = 0; tries < TRIES; tries++) {
      const [pid] = await processes();
      const network = pid === undefined ? undefined : await networkOf(pid);
      if (network === undefined || !(await processes()).includes(pid!)) continue;
      // A program that is only starting is in the machine's network, whose loopback is none of its.
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

  /** The instance's network is left at once. */
  async close(instance: string): Promise<void> {
    const inside = this.#insides.get(instance);
    this.#insides.delete(instance);
    await inside?.dialer.close();
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#insides.keys()].map((instance) => this.close(instance)));
  }
}

/** Two processes are in the same network when these are the same; undefined when it is gone. */
const networkOf = (pid: number | "self") => readlink(`/proc/${pid}/ns/net`).catch(ifNotThere(undefined));
