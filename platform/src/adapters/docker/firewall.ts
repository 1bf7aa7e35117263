/** Rules for the bridge of containers: engines leave private networks and the machine's ports open to them, and them to the machine's users. */
import type { Log } from "../../kernel/log.ts";
import { type Egress, egressRules, ingressRules, publishedRules, serviceRules } from "../../ports/compute/egress.ts";
import type { PortRange } from "../../ports/compute/publish.ts";
import { runTool } from "../machine/forker.ts";
import type { Isolation } from "../machine/isolation.ts";
import { isLink } from "../machine/links.ts";
import { find } from "../machine/tools.ts";

export interface Wall {
  bridge: string;
  /** With which the names of groups' bridges begin: on them members reach each other, and nothing else. */
  groups: string;
  /** The machine's address on it. */
  gateway: string;
  /** Ports of that address that containers reach. */
  linkPorts: readonly number[];
  egress: Egress;
  /** Ports of the machine that the engine may lead to containers. */
  published: PortRange;
  /** The engine makes the bridge with the first container. */
  isMadeLater: boolean;
}

/** Without neighbour discovery nobody on an IPv6 network finds his gateway. */
const DISCOVERY = "icmpv6 type { nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert }";

/** Accepted here is only not refused here: what the engine's own rules refuse stays refused. */
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

  /** Sets the rules in one step, whatever is there, and returns whether they are. Where that cannot be, it is noted, and the log says so once. */
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
