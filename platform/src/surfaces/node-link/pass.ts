/** Passes between nodes: each proves, for one request and a short time, that the node which asks holds the installation's master key. */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../kernel/clock.ts";
import { problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import type { Vault } from "../../ports/vault/vault.ts";

export const PASS_HEADER = "x-millrace-node-pass";
/** How old a pass may be, and how far the clocks of two nodes may be apart. */
export const PASS_MS = 30_000;
const NONCE_BYTES = 12;
const PASS = /^(\d{1,15})\.([\w-]{16})\.([\w-]{43}(?:,[\w-]{43})*)$/;

export class NodePasses {
  readonly #clock: Clock;
  readonly #random: Random;
  /** One for each master key: while keys are rotated, nodes that know the new one and nodes that do not yet understand each other. */
  readonly #keys: readonly Uint8Array[];
  /** What was shown already, with the time from which on it would be too old anyway. */
  readonly #used = new Map<string, number>();

  constructor({ clock, random, vault }: { clock: Clock; random: Random; vault: Vault }) {
    this.#clock = clock;
    this.#random = random;
    this.#keys = vault.keysFor("node link");
  }

  /** For one request; the path has its query. */
  issue(method: string, path: string): string {
    const nonce = Buffer.from(this.#random.bytes(NONCE_BYTES)).toString("base64url");
    const head = `${this.#clock.now()}.${nonce}`;
    return `${head}.${this.#signatures(head, method, path).join(",")}`;
  }

  /** Throws unless the pass is good for this request, and makes it worthless for another one. */
  check(method: string, path: string, pass: string): void {
    const [, time, nonce, given = ""] = PASS.exec(pass) ?? [];
    const known = this.#signatures(`${time}.${nonce}`, method, path);
    if (!given.split(",").some((signature) => known.some((own) => isSame(own, signature)))) throw refusal("not valid");
    // From here on it is one of ours: it may be told what is wrong.
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
