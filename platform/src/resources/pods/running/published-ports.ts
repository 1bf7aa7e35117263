/** The published ports of one machine. Each belongs to one Pod until that Pod is terminated. */
import type { Random } from "../../../kernel/random.ts";
import type { Site } from "../../../machines/own-machine.ts";
import { whyLacking } from "../../../ports/compute/abilities.ts";
import { type Compute, StartRefused } from "../../../ports/compute/compute.ts";
import { freePorts, type PortRange } from "../../../ports/compute/publish.ts";
import type { KeptPod } from "../model.ts";
import { portsOf } from "../ports.ts";
import type { PodItem, PodRecords } from "../records.ts";

export interface PublishedPortsParts {
  machine: string;
  compute: Compute;
  site: Site;
  podRecords: PodRecords;
  random: Random;
}

export type Reserved = Required<Pick<KeptPod, "publicPorts" | "portsAt">>;

const NONE: Reserved = { publicPorts: {}, portsAt: null };

export class PublishedPorts {
  readonly #parts: PublishedPortsParts;

  constructor(parts: PublishedPortsParts) {
    this.#parts = parts;
  }

  /** Why a Pod's TCP ports are not reachable from outside. Undefined if they are, or if it names none. */
  hindrance({ doc }: PodItem): string | undefined {
    const { compute } = this.#parts;
    const isReached = named(doc).length === 0 || compute.publishing?.rangeFor(doc.image) !== undefined;
    return isReached ? undefined : whyLacking(compute, "publishing");
  }

  /**
   * The ports to record for a Pod that is about to boot: those that it had, as far as they are free on this machine, and others for the
   * rest. If somebody else takes one first, the commit is refused and this is called again. Throws StartRefused if there are too few ports.
   */
  async reserve(pod: PodItem, avoid: ReadonlySet<number>): Promise<Reserved> {
    const { machine, compute, site } = this.#parts;
    const wanted = named(pod.doc);
    const range = compute.publishing?.rangeFor(pod.doc.image);
    if (wanted.length === 0 || !range) return NONE;
    const portsAt = { machine, ip: site.reachedAt ?? null };
    const { publicPorts: before, portsAt: where } = pod.doc;
    const isOwn = (port: number | undefined) => port !== undefined && isWithin(range, port) && !avoid.has(port);
    if (where?.machine === machine && wanted.every((name) => isOwn(before[name])))
      return { publicPorts: Object.fromEntries(wanted.map((name) => [name, before[name]!])), portsAt };
    const taken = new Set([...avoid, ...insidesOf(pod.doc), ...(await this.#othersThan(pod))]);
    return { publicPorts: this.#choose(wanted, { before, range, taken }), portsAt };
  }

  #choose(
    wanted: readonly string[],
    { before, range, taken }: { before: KeptPod["publicPorts"]; range: PortRange; taken: Set<number> },
  ): KeptPod["publicPorts"] {
    const had = wanted.flatMap((name) => {
      const port = before[name];
      return port !== undefined && isWithin(range, port) && !taken.has(port) ? [[name, port] as const] : [];
    });
    const chosen = new Map(had);
    const free = freePorts(range, { taken: new Set([...taken, ...chosen.values()]), from: this.#anywhere() });
    for (const name of wanted.filter((one) => !chosen.has(one))) {
      const port = free.next().value;
      if (port === undefined)
        throw new StartRefused(
          `no port of ${range.first} to ${range.last} is free for ${name}/tcp; MILLRACE_PUBLISHED_PORTS may name more`,
          { reason: "ports-used-up" },
        );
      chosen.set(name, port);
    }
    return Object.fromEntries(chosen);
  }

  /** The ports of all other Pods, including stopped ones. */
  async #othersThan({ id }: PodItem): Promise<Set<number>> {
    const { podRecords, machine } = this.#parts;
    const found = new Set<number>();
    for await (const { id: other, doc } of podRecords.pods.all({ key: { name: "portsAt", value: machine } }))
      if (other !== id) for (const port of Object.values(doc.publicPorts)) found.add(port);
    return found;
  }

  /**
   * Starts the search at a random port. A port that was just freed should not go to the next Pod, since old clients would reach a stranger.
   */
  #anywhere(): number {
    return new DataView(this.#parts.random.bytes(4).buffer).getUint32(0);
  }
}

const named = (doc: KeptPod) => portsOf(doc).flatMap(({ type, named }) => (type === "tcp" ? [String(named)] : []));

/** A symmetric port must not be one that the program already uses inside for something else. */
const insidesOf = ({ ports }: KeptPod) => ports.map((port) => Number.parseInt(port, 10));

const isWithin = ({ first, last }: PortRange, port: number) => port >= first && port <= last;
