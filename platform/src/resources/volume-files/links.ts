/** Links to one file of a volume: a browser that downloads or shows a file by itself sends no key with its request. */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { problem } from "../../kernel/problem.ts";
import type { Vault } from "../../ports/vault/vault.ts";

/** What a link says: which file, with which key or session it was made, and until when it is good. */
export interface FileLink {
  volume: string;
  path: string;
  preview: boolean;
  key: string;
  expiresAt: number;
}

export interface FileLinkParts {
  vault: Pick<Vault, "keysFor">;
  clock: Clock;
  publicUrl: () => string;
  /** What the key or session of this id may do; undefined once it is revoked or over. */
  standing(key: string): Promise<Caller | undefined>;
}

/** Time to begin with it, and to begin again where a download broke off. */
const LINK_MS = 300_000;

export class FileLinks {
  readonly #parts: FileLinkParts;
  /** There is one key per master key, so that links made before a rotation still work after it. */
  readonly #keys: readonly Uint8Array[];

  constructor(parts: FileLinkParts) {
    this.#parts = parts;
    this.#keys = parts.vault.keysFor("links to files of volumes");
  }

  make({ key }: Caller, file: Pick<FileLink, "volume" | "path" | "preview">): { url: string; expiresAt: number } {
    const { clock, publicUrl } = this.#parts;
    const link = { ...file, key, expiresAt: clock.now() + LINK_MS };
    const query = new URLSearchParams({
      ...{ path: link.path, preview: String(link.preview), key, expires: String(link.expiresAt) },
      signature: signed(this.#keys[0]!, link),
    });
    return { url: `${publicUrl()}/v2/network-volumes/${file.volume}/files/link?${query}`, expiresAt: link.expiresAt };
  }

  /** The link may do what the key or session may that it was made with, as long as that is good. */
  async callerOf(link: FileLink, signature: string): Promise<Caller> {
    const isOurs = this.#keys.some((key) => isSame(signed(key, link), signature));
    const isOver = !(link.expiresAt > this.#parts.clock.now());
    const caller = isOurs && !isOver ? await this.#parts.standing(link.key) : undefined;
    if (caller) return caller;
    throw problem("unauthenticated", "This link is over, or it never was one: ask for a new one.");
  }
}

const signed = (key: Uint8Array, { volume, path, preview, key: by, expiresAt }: FileLink) =>
  createHmac("sha256", key)
    .update(JSON.stringify([volume, path, preview, by, expiresAt]))
    .digest("base64url");

function isSame(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  return one.length === other.length && timingSafeEqual(one, other);
}
