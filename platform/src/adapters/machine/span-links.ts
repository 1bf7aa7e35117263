/** Joins bridges of this machine to those of other machines: VXLAN links, inside WireGuard where the network between is not trusted. */
import { writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import { StartRefused } from "../../ports/compute/compute.ts";
import { MOST_SPANS, type Span, type SpanEnd, type Spanning } from "../../ports/compute/spans.ts";
import { runTool } from "./forker.ts";
import { isLink, linkNames } from "./links.ts";
import { type SpanRules, spanRuleset } from "./span-rules.ts";
import { find } from "./tools.ts";
import { WireGuard } from "./wireguard.ts";

export interface SpanLinksOptions {
  /** Begins the names of all links that are made here. It has eight characters. */
  prefix: string;
  /** The name of the table of rules. */
  table: string;
  /** The address at which other machines reach this one. */
  address: string | undefined;
  /** The UDP port for what is encrypted. The next one is for what is sent in clear. */
  port: number;
  trusts: readonly string[];
}

/** Whose bridges are joined: those of programs of this machine, or those of containers. */
export type SpanOwner = "host" | "container";

export type SpanJoin = Omit<Span, "elsewhere"> & { bridge: string };

const LETTER: Record<SpanOwner, string> = { host: "o", container: "q" };
const USUAL_MTU = 1500;
/** The loopback link takes longer packets than any network. */
const MOST_MTU = 9000;
/** Where packets for unknown hardware addresses go: to all other machines. */
const EVERYBODY = "00:00:00:00:00:00";
const NO_ADDRESS =
  "its server listens on loopback alone, so other machines do not reach it: set MILLRACE_HOST, or MILLRACE_GROUP_ADDRESS";

interface Tools {
  ip: string;
  bridge: string;
  nft: string;
}

interface Ground {
  tools: Tools;
  mtu: number;
  /** Whether the machine has the address itself. Otherwise something in between translates it. */
  isLocal: boolean;
  wire: WireGuard | { cannot: string };
}

export class SpanLinks {
  readonly #options: SpanLinksOptions;
  readonly #ground: Ground | { cannot: string };
  readonly #turns = new OneAtATime();
  readonly #joined = new Map<string, SpanJoin>();
  #rules = "";

  private constructor(options: SpanLinksOptions, ground: Ground | { cannot: string }) {
    this.#options = options;
    this.#ground = ground;
  }

  /** Looks at what this machine can do. Leaves nothing behind. */
  static async open(options: SpanLinksOptions): Promise<SpanLinks> {
    return new SpanLinks(options, await groundOf(options).catch((error: Error) => ({ cannot: error.message })));
  }

  get spanning(): Spanning {
    const ground = this.#ground;
    if ("cannot" in ground) return { lacks: ground.cannot };
    const { address, port, trusts } = this.#options;
    const { cipher, cannot } = cipherOf(ground);
    const about = { address: address!, port: port + 1, mtu: ground.mtu, trusts };
    return { end: { ...about, ...(cipher && { cipher }), ...(cannot !== undefined && { cannotEncrypt: cannot }) } };
  }

  get canEncrypt(): boolean {
    return !("cannot" in this.#ground) && this.#ground.wire instanceof WireGuard;
  }

  /** The machine's private key. Without it nothing is encrypted. */
  useKey(key: string): void {
    if (!("cannot" in this.#ground) && this.#ground.wire instanceof WireGuard) this.#ground.wire.useKey(key);
  }

  /** Joins a bridge to those of other machines, or changes which they are. Restores what is missing. Safe to repeat. */
  join(owner: SpanOwner, join: SpanJoin): Promise<void> {
    return this.#turns.run(async () => {
      const ground = this.#ofMachine();
      const wire = join.isEncrypted ? wireOf(ground) : undefined;
      const link = this.#link(owner, join.number);
      this.#joined.set(link, join);
      // The rules come first, so that nothing gets in that they would keep out.
      await this.#applyRules(ground);
      if (wire) await wire.meet(this.#encryptedOthers());
      await this.#makeLink(ground, link, join, wire);
      await this.#meet(ground, link, join);
    });
  }

  leave(owner: SpanOwner, number: number): Promise<void> {
    return this.#turns.run(async () => {
      const link = this.#link(owner, number);
      if (this.#joined.delete(link) || (await isLink(link))) await this.#remove([link]);
    });
  }

  /** Removes all links of this owner but those of networks with these numbers. A killed server may have left them. */
  sweep(owner: SpanOwner, numbers: ReadonlySet<number>): Promise<void> {
    return this.#turns.run(async () => {
      const kept = new Set([...numbers].map((number) => this.#link(owner, number)));
      const prefix = `${this.#options.prefix}${LETTER[owner]}`;
      const left = [...(await linkNames())].filter((name) => name.startsWith(prefix) && !kept.has(name));
      for (const name of left) this.#joined.delete(name);
      await this.#remove(left);
    });
  }

  /** With the last link everything else goes too. */
  async #remove(links: readonly string[]): Promise<void> {
    const ground = this.#ground;
    if ("cannot" in ground) return;
    const { ip, nft } = ground.tools;
    for (const link of links) await runTool(ip, ["link", "delete", link]).catch(() => {});
    const names = [...(await linkNames())];
    const isUsed = names.some((name) => this.#isSpan(name)) || this.#joined.size > 0;
    // After a start of the server the machines of the links that are left are not known yet, so the rules stay as they are.
    if (isUsed) return links.length > 0 && this.#joined.size > 0 ? this.#forget(ground) : undefined;
    if (ground.wire instanceof WireGuard) await ground.wire.remove();
    const hadRules = this.#rules !== "" || links.length > 0;
    this.#rules = "";
    if (hadRules) await runTool(nft, ["delete", "table", "inet", this.#options.table]).catch(() => {});
  }

  /** Takes nothing more from machines that share no network with this one any more. */
  async #forget(ground: Ground): Promise<void> {
    await this.#applyRules(ground);
    const { wire } = ground;
    if (wire instanceof WireGuard && (await isLink(wire.link))) await wire.meet(this.#encryptedOthers());
  }

  #isSpan(name: string): boolean {
    const { prefix } = this.#options;
    return Object.values(LETTER).some((letter) => name.startsWith(`${prefix}${letter}`));
  }

  /** Names of links have 15 characters at most, and numbers of networks 24 bits. */
  #link(owner: SpanOwner, number: number): string {
    return `${this.#options.prefix}${LETTER[owner]}${number.toString(16).padStart(6, "0")}`;
  }

  #ofMachine(): Ground {
    if ("cannot" in this.#ground) throw refused(this.#ground.cannot);
    return this.#ground;
  }

  /** One machine may share several networks, and is a peer once. */
  #encryptedOthers(): SpanEnd[] {
    const all = [...this.#joined.values()].filter(({ isEncrypted }) => isEncrypted).flatMap(({ others }) => others);
    return [...new Map(all.filter(({ cipher }) => cipher).map((end) => [end.cipher!.key, end])).values()];
  }

  /** The rules are written again even if they did not change here, since somebody else may have flushed them. */
  async #applyRules(ground: Ground): Promise<void> {
    const joins = [...this.#joined.values()];
    const plain = joins.filter(({ isEncrypted }) => !isEncrypted).flatMap(({ others }) => others);
    const rules: SpanRules = {
      table: this.#options.table,
      port: this.#options.port + 1,
      wire: `${this.#options.prefix}w`,
      plain: plain.map(({ address }) => address),
      ports: plain.map(({ port }) => port),
      inside: this.#encryptedOthers().map(({ cipher }) => cipher!.inside),
    };
    this.#rules = spanRuleset(rules);
    await runTool(ground.tools.nft, ["-f", "-"], this.#rules);
  }

  /** A link that has other traits than it should, such as the port of an earlier setting, is replaced. */
  async #makeLink({ tools: { ip }, isLocal }: Ground, link: string, join: SpanJoin, wire?: WireGuard): Promise<void> {
    const { port, address } = this.#options;
    const local = wire ? wire.cipher?.inside : isLocal ? address : undefined;
    // With a single other machine there is nothing to learn. Learned addresses are reached at this machine's own port.
    const learning = join.others.length > 1;
    const wanted = { id: join.number, port: port + 1, local, mtu: join.mtu, learning };
    const found = await this.#found(ip, link);
    const isStale = found && (found.isDifferent(wanted) || (await this.#hasStrangers(link, join)));
    if (isStale) await runTool(ip, ["link", "delete", link]);
    if (!found || isStale) {
      const from = [...(local === undefined ? [] : ["local", local]), ...(wire ? ["dev", wire.link] : [])];
      const how = [learning ? "learning" : "nolearning", ...from];
      const traits = ["type", "vxlan", "id", String(join.number), "dstport", String(port + 1), ...how];
      await runTool(ip, ["link", "add", "name", link, "mtu", String(join.mtu), ...traits]);
    }
    await writeFile(`/proc/sys/net/ipv6/conf/${link}/disable_ipv6`, "1").catch(() => {});
    await runTool(ip, ["link", "set", "dev", link, "master", join.bridge, "up"]);
  }

  async #found(ip: string, link: string) {
    if (!(await isLink(link))) return undefined;
    const [shown] = JSON.parse(await runTool(ip, ["-d", "-j", "link", "show", "dev", link]));
    const { id, port, local, local6, learning } = shown.linkinfo?.info_data ?? {};
    const has = { id, port, local: local ?? local6, mtu: shown.mtu, learning };
    return { isDifferent: (wanted: object) => JSON.stringify(wanted) !== JSON.stringify(has) };
  }

  async #fellows(link: string): Promise<string[]> {
    const { tools } = this.#ofMachine();
    const shown: { mac: string; dst?: string; port?: number }[] = JSON.parse(
      await runTool(tools.bridge, ["-j", "fdb", "show", "dev", link]),
    );
    return shown.flatMap(({ mac, dst, port }) =>
      mac === EVERYBODY && dst !== undefined ? [`${dst} ${port ?? this.#options.port + 1}`] : [],
    );
  }

  /** The link remembers which machine has which hardware address, so it forgets a machine only as a whole. */
  async #hasStrangers(link: string, join: SpanJoin): Promise<boolean> {
    const wanted = new Set(placesOf(join));
    return (await this.#fellows(link)).some((place) => !wanted.has(place));
  }

  async #meet({ tools: { bridge } }: Ground, link: string, join: SpanJoin): Promise<void> {
    const known = new Set(await this.#fellows(link));
    for (const place of placesOf(join).filter((one) => !known.has(one))) {
      const [dst, port] = place.split(" ") as [string, string];
      await runTool(bridge, ["fdb", "append", EVERYBODY, "dev", link, "dst", dst, "port", port]);
    }
  }
}

/** Where the other machines receive this network's packets. One that cannot decrypt any more gets none. */
const placesOf = ({ isEncrypted, others }: SpanJoin): string[] =>
  others.flatMap(({ address, port, cipher }) => {
    const dst = isEncrypted ? cipher?.inside : address;
    return dst === undefined ? [] : [`${dst} ${port}`];
  });

function cipherOf({ wire }: Ground): { cipher?: SpanEnd["cipher"]; cannot?: string } {
  if (!(wire instanceof WireGuard)) return wire;
  return wire.cipher ? { cipher: wire.cipher } : { cannot: "it has no key yet" };
}

function wireOf(ground: Ground): WireGuard {
  const { cannot } = cipherOf(ground);
  if (cannot !== undefined || !(ground.wire instanceof WireGuard))
    throw refused(`what members send to other machines cannot be encrypted: ${cannot}`);
  return ground.wire;
}

const refused = (text: string) => new StartRefused(text, { reason: "network-unavailable" });

async function groundOf({ prefix, address, port }: SpanLinksOptions): Promise<Ground> {
  if (process.getuid!() !== 0) throw new Error("only root can join networks of machines");
  if (address === undefined) throw new Error(NO_ADDRESS);
  const [ip, bridge, nft] = await Promise.all(["ip", "bridge", "nft"].map(find));
  if (!ip || !bridge || !nft) throw new Error("ip, bridge or nft is missing: apt-get install iproute2 nftables");
  const trial = `${prefix}t`;
  const make = ["link", "add", "name", trial, "type", "vxlan", "id", trialNumber(prefix), "dstport", String(port + 1)];
  await tryLink(ip, trial, make).catch((error: Error) => {
    throw new Error(`this machine cannot make VXLAN links: ${error.message}`, { cause: error });
  });
  const { mtu, isLocal } = await mtuAt(ip, address);
  return { tools: { ip, bridge, nft }, mtu, isLocal, wire: await WireGuard.find({ ip, prefix, port, mtu, tryLink }) };
}

async function tryLink(ip: string, link: string, make: readonly string[]): Promise<void> {
  await runTool(ip, ["link", "delete", link]).catch(() => {});
  await runTool(ip, make);
  await runTool(ip, ["link", "delete", link]);
}

/** Numbers of networks are shared by all installations on a machine, so each tries its own. */
const trialNumber = (prefix: string) => String(1 + (Number.parseInt(prefix.slice(-6), 16) % (MOST_SPANS - 1)));

async function mtuAt(ip: string, address: string): Promise<{ mtu: number; isLocal: boolean }> {
  const route = await runTool(ip, ["route", "get", address]).catch(() => "");
  const isLocal = route.startsWith("local ");
  const held = Object.entries(networkInterfaces()).find(([, all = []]) => all.some((one) => one.address === address));
  const name = held?.[0] ?? /dev (\S+)/.exec(route)?.[1];
  const shown = name === undefined ? "" : await runTool(ip, ["-o", "link", "show", "dev", name]);
  return { mtu: Math.min(MOST_MTU, Number(/ mtu (\d+)/.exec(shown)?.[1] ?? USUAL_MTU)), isLocal };
}
