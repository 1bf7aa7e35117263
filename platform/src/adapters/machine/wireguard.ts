/** The machine's WireGuard link, through which networks that span machines are encrypted: of the kernel, or of `wireguard-go`. */
import { createHash, createPrivateKey, createPublicKey } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { CIPHER_BYTES, type Cipher, type SpanEnd } from "../../ports/compute/spans.ts";
import { runTool } from "./forker.ts";
import { isLink } from "./links.ts";
import { find } from "./tools.ts";

interface WireGuardTools {
  ip: string;
  wg: string;
  /** The program that stands in for a kernel without WireGuard. */
  stand: string | undefined;
}

interface Finding {
  ip: string;
  prefix: string;
  port: number;
  mtu: number;
  /** Makes and removes a link, to see whether that is possible. */
  tryLink: (ip: string, link: string, make: readonly string[]) => Promise<void>;
}

/** What comes before the 32 bytes of a private key in the form that Node reads. */
const BEFORE_KEY = Buffer.from("302e020100300506032b656e04220420", "hex");
const KEY_BYTES = 32;

export class WireGuard {
  readonly link: string;
  readonly #tools: WireGuardTools;
  readonly #port: number;
  readonly #mtu: number;
  #key: string | undefined;
  cipher: Cipher | undefined;

  private constructor(tools: WireGuardTools, { prefix, port, mtu }: Finding) {
    this.#tools = tools;
    this.link = `${prefix}w`;
    this.#port = port;
    this.#mtu = mtu;
  }

  /** Says what is missing where the machine has no WireGuard. */
  static async find(finding: Finding): Promise<WireGuard | { cannot: string }> {
    const { ip, prefix, tryLink } = finding;
    const [wg, stand] = await Promise.all([find("wg"), find("wireguard-go")]);
    if (!wg) return { cannot: "wg is not installed: apt-get install wireguard-tools" };
    const trial = `${prefix}t`;
    const isInKernel = await tryLink(ip, trial, ["link", "add", "name", trial, "type", "wireguard"]).then(
      () => true,
      () => false,
    );
    if (!isInKernel && !stand)
      return { cannot: "its kernel has no WireGuard: modprobe wireguard, or apt-get install wireguard-go" };
    return new WireGuard({ ip, wg, stand: isInKernel ? undefined : stand }, finding);
  }

  useKey(key: string): void {
    this.#key = key;
    const secret = createPrivateKey({
      key: Buffer.concat([BEFORE_KEY, Buffer.from(key, "base64")]),
      format: "der",
      type: "pkcs8",
    });
    const open = createPublicKey(secret).export({ format: "der", type: "spki" }).subarray(-KEY_BYTES);
    this.cipher = { key: open.toString("base64"), port: this.#port, inside: addressFrom(open) };
  }

  /** Makes these machines the only ones from which packets are taken. Makes the link if it is missing. */
  async meet(others: readonly SpanEnd[]): Promise<void> {
    const { ip } = this.#tools;
    if (!(await isLink(this.link))) await this.#make();
    // The machine may have IPv6 turned off for all other links.
    await writeFile(`/proc/sys/net/ipv6/conf/${this.link}/disable_ipv6`, "0");
    const peers = others.map(({ cipher }) => cipher!.inside);
    const lines = [
      `link set dev ${this.link} mtu ${this.#mtu - CIPHER_BYTES} up`,
      `-6 address replace ${this.cipher!.inside}/128 dev ${this.link}`,
      ...peers.map((inside) => `-6 route replace ${inside}/128 dev ${this.link}`),
    ];
    for (const line of lines) await runTool(ip, line.split(" "));
    // The tool opens a path, and the server's pipes cannot be opened by one. The key appears in no command line.
    const pass = 'cat | "$1" syncconf "$2" /dev/stdin';
    await runTool("/bin/sh", ["-c", pass, "sh", this.#tools.wg, this.link], this.#configuration(others));
  }

  async remove(): Promise<void> {
    if (await isLink(this.link)) await runTool(this.#tools.ip, ["link", "delete", this.link]).catch(() => {});
  }

  /** The program that stands in goes on by itself, and ends when its link is deleted. */
  #make(): Promise<string> {
    const { ip, stand } = this.#tools;
    return stand ? runTool(stand, [this.link]) : runTool(ip, ["link", "add", "name", this.link, "type", "wireguard"]);
  }

  #configuration(others: readonly SpanEnd[]): string {
    const peers = others.map(({ address, cipher }) => {
      const { key, port, inside } = cipher!;
      const endpoint = `${address.includes(":") ? `[${address}]` : address}:${port}`;
      return `[Peer]\nPublicKey = ${key}\nAllowedIPs = ${inside}/128\nEndpoint = ${endpoint}\n`;
    });
    return `[Interface]\nPrivateKey = ${this.#key}\nListenPort = ${this.#port}\n${peers.join("")}`;
  }
}

/** A private IPv6 address that follows from the key, so nobody has to assign it. */
function addressFrom(key: Buffer): string {
  const digits = createHash("sha256").update(key).digest("hex").slice(0, 30);
  return `fd${digits}`
    .match(/.{4}/g)!
    .map((part) => Number.parseInt(part, 16).toString(16))
    .join(":");
}
