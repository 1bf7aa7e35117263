/** Envelope encryption: AES-256-GCM under a random data key per value, itself wrapped by a master key. */
import { createCipheriv, createDecipheriv, hash, hkdfSync } from "node:crypto";
import type { Random } from "../../kernel/random.ts";
import { type Sealed, UnknownMasterKey, type Vault } from "../../ports/vault/vault.ts";

const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export class EnvelopeVault implements Vault {
  readonly #masters: Map<string, Uint8Array>;
  readonly #newest: string;
  readonly #random: Random;
  readonly #assertCurrent: () => void;

  /**
   * The first master key seals new values. The others only open values that were sealed before a rotation. `assertCurrent` throws while it
   * is uncertain whether the first key is still the one that the installation seals with.
   */
  constructor(masters: readonly Uint8Array[], random: Random, assertCurrent = () => {}) {
    if (masters.length === 0) throw new Error("the vault needs a master key");
    for (const master of masters) {
      if (master.length !== KEY_BYTES) throw new Error(`a master key has ${KEY_BYTES} bytes, not ${master.length}`);
    }
    this.#masters = new Map(masters.map((master) => [masterName(master), master]));
    this.#newest = masterName(masters[0]!);
    this.#random = random;
    this.#assertCurrent = assertCurrent;
  }

  get masters(): string[] {
    return [...this.#masters.keys()];
  }

  async seal(text: string, context: string): Promise<Sealed> {
    this.#assertCurrent();
    const dataKey = this.#random.bytes(KEY_BYTES);
    return {
      master: this.#newest,
      key: this.#encrypt(this.#masters.get(this.#newest)!, dataKey, "data key"),
      data: this.#encrypt(dataKey, Buffer.from(text), context),
    };
  }

  async open(sealed: Sealed, context: string): Promise<string> {
    const dataKey = decrypt(this.#master(sealed), sealed.key, "data key");
    return decrypt(dataKey, sealed.data, context).toString();
  }

  rewrap(sealed: Sealed): Sealed | undefined {
    if (sealed.master === this.#newest) return undefined;
    const dataKey = decrypt(this.#master(sealed), sealed.key, "data key");
    const key = this.#encrypt(this.#masters.get(this.#newest)!, dataKey, "data key");
    return { ...sealed, master: this.#newest, key };
  }

  keysFor(purpose: string): Uint8Array[] {
    const info = `millrace ${purpose}`;
    return [...this.#masters.values()].map((master) => new Uint8Array(hkdfSync("sha256", master, "", info, KEY_BYTES)));
  }

  #master({ master }: Sealed): Uint8Array {
    const key = this.#masters.get(master);
    if (!key) throw new UnknownMasterKey(master);
    return key;
  }

  #encrypt(key: Uint8Array, plain: Uint8Array, context: string): string {
    const nonce = this.#random.bytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(context));
    const body = Buffer.concat([cipher.update(plain), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString("base64");
  }
}

function decrypt(key: Uint8Array, sealed: string, context: string): Buffer {
  const bytes = Buffer.from(sealed, "base64");
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(context))
    .setAuthTag(tag);
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
}

/** A name that identifies a master key and reveals nothing about it. */
function masterName(master: Uint8Array): string {
  return hash("sha256", Buffer.concat([Buffer.from("millrace master key\n"), master]), "hex").slice(0, 16);
}
