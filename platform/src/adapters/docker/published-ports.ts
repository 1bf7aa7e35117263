/** Chooses the machine's ports that are forwarded to containers. */
import { createHash } from "node:crypto";
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import {
  checkPublish,
  choosePorts,
  type PortRange,
  PortTaken,
  PUBLISHED_PORTS,
  type Publish,
  type Published,
} from "../../ports/compute/publish.ts";
import { listenersSeenBy } from "../machine/listeners.ts";
import { publishedOf } from "./container.ts";
import type { Containers } from "./containers.ts";
import { EngineRefused } from "./engine-api.ts";

/** How often ports are chosen anew because another program turned out to have one of them. */
const MOST_TRIES = 20;

export class PublishedPorts {
  readonly #range: PortRange;
  readonly #turns = new OneAtATime();
  #from: number;

  /** The first port depends on the installation, so that installations on one machine do not compete for the same ports. */
  constructor({
    publishedPorts = PUBLISHED_PORTS,
    installation,
  }: { publishedPorts?: PortRange; installation: string }) {
    this.#range = publishedPorts;
    this.#from = createHash("sha256").update(installation).digest().readUInt32LE();
  }

  get range(): PortRange {
    return this.#range;
  }

  /**
   * Creates a container with ports that no other container of this installation has and, as far as this process can see, nobody listens on.
   * `make` resolves when the container has its ports. When it fails because a port is taken, other ports are tried, unless all of them were
   * requested by number.
   */
  async claim(
    publish: readonly Publish[] = [],
    containers: Containers,
    make: (ports: Published[]) => Promise<void>,
  ): Promise<void> {
    checkPublish(publish);
    if (publish.length === 0) return make([]);
    return this.#turns.run(async () => {
      for (let tries = 1; ; tries++) {
        const ports = await this.#choose(publish, containers);
        try {
          return await make(ports);
        } catch (error) {
          if (!isTaken(error)) throw error;
          const wished = publish.flatMap(({ outside = [] }) => outside);
          if (wished.length === publish.length) throw new PortTaken(blamed(error, wished), error);
          if (tries === MOST_TRIES) throw error;
        }
      }
    });
  }

  async #choose(publish: readonly Publish[], containers: Containers): Promise<Published[]> {
    const [listed, listening] = await Promise.all([containers.list(), listenersSeenBy("self")]);
    const used = listed.flatMap(({ Labels }) => publishedOf(Labels).map(({ outside }) => outside));
    const taken = new Set([...used, ...listening.map(({ port }) => port)]);
    const chosen = choosePorts(publish, this.#range, { taken, from: this.#from });
    if (publish.some(({ outside }) => outside === undefined))
      this.#from = chosen.at(-1)!.outside + 1 - this.#range.first;
    return chosen;
  }
}

/** The port that the engine's message names, or else the first. */
const blamed = (error: unknown, wished: readonly number[]): number =>
  wished.find((outside) => new RegExp(`:${outside}\\b`).test(String((error as Error).message))) ?? wished[0]!;

/** Recognizes the messages of Docker and Podman about a port that is taken. */
const isTaken = (error: unknown) => {
  const cause = error instanceof EngineRefused ? error : (error as Error).cause;
  return cause instanceof EngineRefused && /port is already allocated|address already in use/i.test(cause.message);
};
