/** Firewall rules around the containers' bridge, which engines leave open to private networks, the machine and its users. */
import type { Log } from "../../kernel/log.ts";
import { type Egress, egressRules, ingressRules, publishedRules, serviceRules } from "../../ports/compute/egress.ts";
import type { PortRange } from "../../ports/compute/publish.ts";
import { runTool } from "../machine/forker.ts";
import type { Isolation } from "../machine/isolation.ts";
import { isLink } from "../machine/links.ts";
import { find } from "../machine/tools.ts";

export interface Wall {
  bridge: string;
  /** The prefix of the names of groups' bridges. On these bridges members reach each other and nothing else. */
  groups: string;
  /** The machine's address on the bridge. */
  gateway: string;
  /** Ports of that address that containers may reach. */
  linkPorts: readonly number[];
  egress: Egress;
  /** Ports of the machine that the engine may forward to containers. */
  published: PortRange;
  /** Whether the engine creates the bridge only with the first container. */
  isMadeLater: boolean;
}

/** On an IPv6 network nobody finds the gateway without neighbour discovery. */
const DISCOVERY = "icmpv6 type { nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert }";

/** `accept` in these rules does not override the engine's own rules: traffic that they refuse stays refused. */
export function containerRules(table: string, wall: Wall): string {
  const { gateway, linkPorts, egress, published } = wall;
  const bridge = `"${wall.bridge}"`;
  const groups = `"${wall.groups}*"`;
  const link = linkPorts.map((port) => `iifname ${bridge} ip daddr ${gateway} tcp dport ${port} accept`);
  return `table inet ${table}
delete table inet ${table}
table inet ${table} {
  chain input {
    type filter hook input priority -10; policy accept;
    iifname ${groups} reject
    iifname ${bridge} ct state established,related accept
    ${[...link, ...serviceRules(bridge, egress)].join("\n    ")}
    iifname ${bridge} ${DISCOVERY} accept
    iifname ${bridge} reject
  }
  chain forward {
    type filter hook forward priority -10; policy accept;
    iifname ${groups} oifname != ${groups} reject
    iifname != ${groups} oifname ${groups} reject
    oifname ${bridge} ct state established,related accept
    ${publishedRules(bridge, published).join("\n    ")}
    oifname ${bridge} reject
    ${egressRules(bridge, egress).join("\n    ")}
  }
  chain output {
    type filter hook output priority -10; policy accept;
    ${ingressRules(groups).join("\n    ")}
    oifname ${bridge} ct state established,related accept
    ${ingressRules(bridge).join("\n    ")}
  }
}
`;
}

export class Firewall {
  readonly #table: string;
  readonly #log: Log;
  readonly #isolation: Isolation;
  #cannot: string | undefined;

  constructor(table: string, log: Log, isolation: Isolation) {
    this.#table = table;
    this.#log = log;
    this.#isolation = isolation;
  }

  /** Replaces the rules in one step and returns whether they are set. A failure is noted, and logged once. */
  async raise(wall: Wall): Promise<boolean> {
    const cannot = await this.#apply(wall).then(
      () => undefined,
      (error: Error) => error.message,
    );
    const gap =
      cannot && `containers would reach private networks and ports of this machine, and its users them: ${cannot}`;
    this.#isolation.note("rules", gap);
    if (gap && cannot !== this.#cannot) this.#log.warn({}, this.#isolation.warning!);
    this.#cannot = cannot;
    return cannot === undefined;
  }

  async #apply(wall: Wall): Promise<void> {
    const nft = await usableNft();
    if (!wall.isMadeLater && !(await isLink(wall.bridge)))
      throw new Error(`the engine's bridge ${wall.bridge} is not in the network that this server runs in`);
    await runTool(nft, ["-f", "-"], containerRules(this.#table, wall));
  }

  async remove(): Promise<void> {
    const nft = await usableNft().catch(() => undefined);
    if (nft) await runTool(nft, ["delete", "table", "inet", this.#table]).catch(() => {});
  }
}

async function usableNft(): Promise<string> {
  if (process.getuid!() !== 0) throw new Error("only root can set rules for them");
  const nft = await find("nft");
  if (!nft) throw new Error("nft not found: install it (apt-get install nftables)");
  return nft;
}
