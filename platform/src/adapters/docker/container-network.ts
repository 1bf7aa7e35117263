/** The containers' network as the driver uses it: created when it is needed and kept in place, with its firewall rules. */

import { type Duty, every } from "../../kernel/background.ts";
import type { Clock } from "../../kernel/clock.ts";
import { type Failed, failedTo } from "../../kernel/failed.ts";
import type { Log } from "../../kernel/log.ts";
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import type { Egress } from "../../ports/compute/egress.ts";
import { type PortRange, PUBLISHED_PORTS } from "../../ports/compute/publish.ts";
import type { Isolation } from "../machine/isolation.ts";
import type { Engine } from "./engine.ts";
import { Firewall, type Wall } from "./firewall.ts";
import { groupBridges } from "./group-networks.ts";
import { bridgeName, ensureNetwork, type FoundNetwork, findNetwork, networkName } from "./network.ts";

export interface ContainerNetworkOptions {
  engine: Engine;
  /** Firewall rules that could not be set are noted here. */
  isolation: Isolation;
  installation: string;
  /** The addresses that containers reach in addition to the internet. */
  egress: Egress;
  publishedPorts?: PortRange;
  clock: Clock;
  log: Log;
  /** Receives the failures of background duties; by default they go to the log. */
  failed?: Failed;
}

/** The network and its rules are checked this often, since somebody may have flushed the rules or removed the network. */
/** A network that was found this short a time ago is taken to be there. If it is not, the engine refuses the container. */
const ENSURED_MS = 1_000;
const RENEW_MS = 30_000;

export const tableName = (installation: string) => bridgeName(installation).replace("mr-", "millrace_");

const togetherOn = (network: string) =>
  `containers would reach each other: Docker made the network ${network} without its rule between them; load the kernel's br_netfilter (modprobe br_netfilter) and remove that network (docker network rm ${network})`;

export class ContainerNetwork implements AsyncDisposable {
  readonly #options: ContainerNetworkOptions;
  readonly #firewall: Firewall;
  readonly #linkPorts = new Set<number>();
  /** The engine refuses a second request to create the network while the first is under way. */
  readonly #turns = new OneAtATime();
  #found: FoundNetwork | undefined;
  #raised = "";
  #ensuredAt = Number.NEGATIVE_INFINITY;
  #duty: Duty | undefined;

  constructor(options: ContainerNetworkOptions) {
    this.#options = options;
    this.#firewall = new Firewall(tableName(options.installation), options.log, options.isolation);
  }

  /** The machine's address on the network. It is known once the network was found or made. */
  get linkHost(): string {
    if (!this.#found) throw new Error("no container was prepared yet");
    return this.#found.addresses.Gateway;
  }

  /** Looks for the network without creating it: an installation that runs no container leaves nothing on the engine. */
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
    this.#ensuredAt = this.#options.clock.monotonic();
    this.#lookAfter();
  }

  /**
   * Prepares the network for a container of this account that is about to start. Throws StartRefused where nothing would keep the container
   * from the networks around it.
   */
  async ensureFor(account: string): Promise<void> {
    // The preparation of the image has just done this for most containers.
    if (this.#options.clock.monotonic() - this.#ensuredAt > ENSURED_MS) await this.ensure();
    await this.#options.isolation.check(account);
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

  async #raise({ addresses, bridge, isApart }: FoundNetwork): Promise<void> {
    const { podman } = await this.#options.engine.find();
    const { egress, installation, isolation } = this.#options;
    // Podman cannot keep containers on one network apart. An operator who chooses Podman has to know that, so it is not noted as a gap.
    isolation.note("neighbours", isApart || podman ? undefined : togetherOn(networkName(installation)));
    // Podman's containers resolve names at the gateway.
    const nameServers = podman ? [...egress.nameServers, addresses.Gateway] : egress.nameServers;
    const wall: Wall = {
      // Podman does not report the bridge's name. Newer versions use the name that they are given.
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
    if (await this.#firewall.raise(wall)) this.#raised = wanted;
  }

  #lookAfter(): void {
    const { clock, log, failed = failedTo(log) } = this.#options;
    this.#duty ??= every(
      clock,
      { name: "renew the rules around containers", everyMs: RENEW_MS },
      () => this.renew(),
      failed,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#duty?.[Symbol.asyncDispose]();
  }
}
