/** Forwards ports of the machine to instances on its bridge by kernel rules, which stay in force while no server runs. */
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import { choosePorts, type PortRange, type Publish, type Published } from "../../ports/compute/publish.ts";
import { runTool } from "../machine/forker.ts";
import { listenersSeenBy } from "../machine/listeners.ts";

export interface PublishedOptions {
  nft: string;
  table: string;
  bridge: string;
  range: PortRange;
  /** Where the choice of ports begins. Installations that share a machine should begin at different ports. */
  seed: number;
  addressOf(index: number): string;
}

interface Way extends Published {
  address: string;
}

/** The rules have a table of their own, so that renewing the other rules does not close open ports. */
const publishedTable = (table: string) => `${table}_ports`;

/**
 * Instances cannot use published ports, on whichever of their links: on the machine they reach only the worker link. The machine cannot use
 * them through its loopback address either, since that is never forwarded.
 */
function publishedRuleset(table: string, bridge: string, ways: readonly Way[]): string {
  const leads = ({ address, inside, outside }: Way) => `tcp dport ${outside} dnat ip to ${address}:${inside}`;
  const lines = (from: string) => ways.map((way) => `    ${from} fib daddr type local ${leads(way)}\n`).join("");
  return `table inet ${publishedTable(table)}
delete table inet ${publishedTable(table)}
table inet ${publishedTable(table)} {
  chain incoming {
    type nat hook prerouting priority -100; policy accept;
${lines(`iifname != "${bridge}*" meta nfproto ipv4`)}  }
  chain local {
    type nat hook output priority -100; policy accept;
${lines("ip daddr != 127.0.0.0/8")}  }
}
`;
}

export class PublishedPorts {
  readonly #options: PublishedOptions;
  /** The key is the instance's place in the network. */
  #published = new Map<number, readonly Published[]>();
  readonly #turns = new OneAtATime();
  #from: number;

  constructor(options: PublishedOptions) {
    this.#options = options;
    this.#from = options.seed;
  }

  get range(): PortRange {
    return this.#options.range;
  }

  /** Chooses free ports. `taken` are the ports of instances that are about to start. Throws StartRefused. */
  async choose(publish: readonly Publish[], taken: readonly number[]): Promise<Published[]> {
    if (publish.length === 0) return [];
    const listening = (await listenersSeenBy("self")).map(({ port }) => port);
    const used = [...this.#published.values()].flat().map(({ outside }) => outside);
    const chosen = choosePorts(publish, this.#options.range, {
      taken: new Set([...taken, ...used, ...listening]),
      from: this.#from,
    });
    if (publish.some(({ outside }) => outside === undefined))
      this.#from = chosen.at(-1)!.outside + 1 - this.#options.range.first;
    return chosen;
  }

  async open(index: number, published: readonly Published[]): Promise<void> {
    if (published.length === 0) return;
    this.#published.set(index, published);
    await this.#apply();
  }

  async close(index: number): Promise<void> {
    if (this.#published.delete(index)) await this.#apply();
    else await this.#turns.over;
  }

  /** Restores exactly these ports after a restart. */
  async restore(published: ReadonlyMap<number, readonly Published[]>): Promise<void> {
    this.#published = new Map([...published].filter(([, ports]) => ports.length > 0));
    await this.#apply();
  }

  #apply(): Promise<void> {
    return this.#turns.run(async () => {
      const { nft, table, bridge, addressOf } = this.#options;
      const ways = [...this.#published].flatMap(([index, ports]) =>
        ports.map((port) => ({ ...port, address: addressOf(index) })),
      );
      if (ways.length > 0) await runTool(nft, ["-f", "-"], publishedRuleset(table, bridge, ways));
      else await this.remove();
    });
  }

  /** Removes all rules. Missing rules are no error. */
  async remove(): Promise<void> {
    const { nft, table } = this.#options;
    await runTool(nft, ["delete", "table", "inet", publishedTable(table)]).catch(() => {});
  }
}
