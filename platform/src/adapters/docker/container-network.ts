/** The containers' network as the driver uses it: made when it is needed, with the rules around it, which are looked after. */
import { type Duty, every } from "../../kernel/background.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import type { Egress } from "../../ports/compute/egress.ts";
import { type PortRange, PUBLISHED_PORTS } from "../../ports/compute/publish.ts";
import type { Engine } from "./engine.ts";
import { Firewall, type Wall } from "./firewall.ts";
import { groupBridges } from "./group-networks.ts";
import { bridgeName, ensureNetwork, type FoundNetwork, findNetwork } from "./network.ts";

export interface ContainerNetworkOptions {
  engine: Engine;
  installation: string;
  /** What containers reach beyond the internet. */
  egress: Egress;
  publishedPorts?: PortRange;
  clock: Clock;
  log: Log;
}

/** Somebody may have flushed the rules, or removed the network. */
const RENEW_MS = 30_000;

export const tableName = (installation: string) => bridgeName(installation).replace("mr-", "millrace_");

export class ContainerNetwork implements AsyncDisposable {
  readonly #options: ContainerNetworkOptions;
  readonly #firewall: Firewall;
  readonly #linkPorts = new Set<number>();
  /** Two that make the network at once refuse each other. */
  readonly #turns = new OneAtATime();
  #found: FoundNetwork | undefined;
  #raised = "";
  #duty: Duty | undefined;

  constructor(options: ContainerNetworkOptions) {
    this.#options = options;
    this.#firewall = new Firewall(tableName(options.installation), options.log);
  }

  /** The machine's address on it, known once it was found or made. */
  get linkHost(): string {
    if (!this.#found) throw new Error("no container was prepared yet");
    return this.#found.addresses.Gateway;
  }

  /** Only looks for it: an installation that runs no container leaves nothing on the engine. */
  async find(): Promise<void> {
    const { api } = await this.#options.engine.find();
    this.#found = (await findNetwork(api, this.#options.installation)) ?? this.#found;
    if (this.#found) this.#lookAfter();
  }

  async ensure(): Promise<void> {
    const { api } = await this.#options.engine.find();
    const { installation, log } = this.#options;
    await this.#turns.run(async () => {
      this.#found = await ensureNetwork(api, { installation, before: this.#found?.addresses, log });
      await this.#raise(this.#found);
    });
    this.#lookAfter();
  }

  /** Lets containers reach a port at `linkHost`. */
  async openLink(port: number): Promise<void> {
    this.#linkPorts.add(port);
    await this.#turns.run(async () => {
      if (this.#found) await this.#raise(this.#found);
    });
  }

  async renew(): Promise<void> {
    const { api } = await this.#options.engine.find();
    await this.#turns.run(async () => {
      const found = await findNetwork(api, this.#options.installation);
      this.#raised = "";
      if (found) await this.#raise(found);
      else await this.#firewall.remove();
    });
  }

  async #raise({ addresses, bridge }: FoundNetwork): Promise<void> {
    const { podman } = await this.#options.engine.find();
    const { egress } = this.#options;
    // Containers of Podman ask for names at the gateway.
    const nameServers = podman ? [...egress.nameServers, addresses.Gateway] : egress.nameServers;
    const wall: Wall = {
      // Podman does not tell it, and newer ones take the one they are given.
      bridge: podman ? bridgeName(this.#options.installation) : bridge,
      groups: groupBridges(this.#options.installation),
      gateway: addresses.Gateway,
      linkPorts: [...this.#linkPorts],
      egress: { ...egress, nameServers },
      published: this.#options.publishedPorts ?? PUBLISHED_PORTS,
      isMadeLater: podman,
    };
    const wanted = JSON.stringify(wall);
    if (wanted === this.#raised) return;
    await this.#firewall.raise(wall);
    this.#raised = wanted;
  }

  #lookAfter(): void {
    const { clock, log } = this.#options;
    this.#duty ??= every(
      clock,
      RENEW_MS,
      () => this.renew(),
      (error) => log.warn({ err: error }, "the rules around containers could not be looked after"),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#duty?.[Symbol.asyncDispose]();
  }
}
