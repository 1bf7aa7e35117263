/** Writes an Ed25519 key in OpenSSH's form of private keys, which the library reads. */
import { createPrivateKey, createPublicKey } from "node:crypto";

/** The bytes before the seed in PKCS #8. */
const PKCS8_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");
const TYPE = "ssh-ed25519";
const PUBLIC_BYTES = 32;
const BLOCK = 8;
const LINE = 70;

/** The seed has 32 bytes. */
export function hostKeyText(seed: Buffer): string {
  const key = publicOf(seed);
  const check = Buffer.alloc(8);
  const secret = Buffer.concat([check, text(TYPE), text(key), text(Buffer.concat([seed, key])), text("")]);
  const padding = Buffer.from(Array.from({ length: (BLOCK - (secret.length % BLOCK)) % BLOCK }, (_, at) => at + 1));
  const whole = Buffer.concat([
    Buffer.from("openssh-key-v1\0"),
    ...[text("none"), text("none"), text("")],
    ...[number(1), text(publicBlob(seed)), text(Buffer.concat([secret, padding]))],
  ]);
  const lines = whole.toString("base64").match(new RegExp(`.{1,${LINE}}`, "g"))!;
  return ["-----BEGIN OPENSSH PRIVATE KEY-----", ...lines, "-----END OPENSSH PRIVATE KEY-----", ""].join("\n");
}

/** The public key as clients see it. A line of known_hosts has it in base64. */
export const publicBlob = (seed: Buffer) => Buffer.concat([text(TYPE), text(publicOf(seed))]);

function publicOf(seed: Buffer): Buffer {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: "der", type: "pkcs8" });
  return createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-PUBLIC_BYTES);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

const text = (value: string | Buffer) => Buffer.concat([number(Buffer.byteLength(value)), Buffer.from(value)]);
