/** The ports of the fake driver's machine: those that instances publish, and those they share if they have no network of their own. */
import type { Duplex } from "node:stream";
import { type InstanceSpec, StartRefused } from "./compute.ts";
import type { FakeInstance } from "./fake-instance.ts";
import { checkPublish, choosePorts, type PortRange, type Publish, type Published } from "./publish.ts";

export interface FakePortsParts {
  range: PortRange;
  ownNetwork: boolean;
  /** Why ports cannot be published; undefined if they can. */
  cannotPublish: string | undefined;
  running: () => readonly FakeInstance[];
}

export class FakePorts {
  /** Ports that something else uses. */
  readonly strangers = new Set<number>();
  readonly #parts: FakePortsParts;

  constructor(parts: FakePortsParts) {
    this.#parts = parts;
  }

  /** Two instances that share the machine's network cannot listen on the same port. */
  check({ ports }: InstanceSpec): void {
    if (this.#parts.ownNetwork) return;
    const taken = this.#parts.running().flatMap(({ spec }) => spec.ports);
    const port = ports.find((one) => taken.includes(one));
    if (port !== undefined) throw new StartRefused(`port ${port} is in use by another`, { reason: "port-taken" });
  }

  publish(publish: readonly Publish[]): readonly Published[] {
    const { cannotPublish, range, running } = this.#parts;
    checkPublish(publish, cannotPublish);
    const used = running().flatMap(({ published }) => published.map(({ outside }) => outside));
    return choosePorts(publish, range, { taken: new Set([...used, ...this.strangers]), from: 0 });
  }

  /** Connects from outside. Rejects when no instance publishes this port. */
  async reach(outside: number): Promise<Duplex> {
    for (const instance of this.#parts.running()) {
      const way = instance.published.find((one) => one.outside === outside);
      if (way) return instance.connect(way.inside);
    }
    throw new Error(`nothing is published at ${outside}`);
  }
}
