/** Passes between nodes. Each proves, for one request and a short time, that the asking node has the installation's master key. */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../kernel/clock.ts";
import { problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import type { Vault } from "../../ports/vault/vault.ts";

export const PASS_HEADER = "x-millrace-node-pass";
/** The greatest age of a pass, and the greatest difference between the clocks of two nodes. */
export const PASS_MS = 30_000;
const NONCE_BYTES = 12;
const PASS = /^(\d{1,15})\.([\w-]{16})\.([\w-]{43}(?:,[\w-]{43})*)$/;

export class NodePasses {
  readonly #clock: Clock;
  readonly #random: Random;
  /** One key per master key. During a rotation, nodes with and without the new key still accept each other's passes. */
  readonly #keys: readonly Uint8Array[];
  /** Passes already shown, with the time when each expires anyway. */
  readonly #used = new Map<string, number>();

  constructor({ clock, random, vault }: { clock: Clock; random: Random; vault: Vault }) {
    this.#clock = clock;
    this.#random = random;
    this.#keys = vault.keysFor("node link");
  }

  /** Makes a pass for one request. The path includes its query. */
  issue(method: string, path: string): string {
    const nonce = Buffer.from(this.#random.bytes(NONCE_BYTES)).toString("base64url");
    const head = `${this.#clock.now()}.${nonce}`;
    return `${head}.${this.#signatures(head, method, path).join(",")}`;
  }

  /** Throws unless the pass is valid for this request. A pass works only once. */
  check(method: string, path: string, pass: string): void {
    const [, time, nonce, given = ""] = PASS.exec(pass) ?? [];
    const known = this.#signatures(`${time}.${nonce}`, method, path);
    if (!given.split(",").some((signature) => known.some((own) => isSame(own, signature)))) throw refusal("not valid");
    // From here on the pass is one of ours, so the refusal may say what is wrong.
    const now = this.#clock.now();
    const offMs = Math.abs(now - Number(time));
    if (offMs > PASS_MS)
      throw refusal(`${Math.round(offMs / 1000)} s off: the clocks of the nodes must agree within ${PASS_MS / 1000} s`);
    this.#forgetOld(now);
    if (this.#used.has(nonce!)) throw refusal("used already");
    this.#used.set(nonce!, now + 2 * PASS_MS);
  }

  #signatures(head: string, method: string, path: string): string[] {
    const text = `${head}\n${method}\n${path}`;
    return this.#keys.map((key) => createHmac("sha256", key).update(text).digest("base64url"));
  }

  #forgetOld(now: number): void {
    for (const [nonce, until] of this.#used) {
      if (until > now) return;
      this.#used.delete(nonce);
    }
  }
}

const refusal = (what: string) => problem("unauthenticated", `the node's pass is ${what}`);

function isSame(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
