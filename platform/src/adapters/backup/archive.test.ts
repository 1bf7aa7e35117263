/** A backup is read as it was written, encrypted or not. One that was cut, changed or continued is refused with the reason. */
import { generateIdentity, identityToRecipient } from "age-encryption";
import { expect, test } from "vitest";
import { archived, type Header, NoBackup, type Part, readArchive } from "./archive.ts";
import { blocks } from "./blocks.ts";
import { type Openers, sealed, unsealed } from "./sealing.ts";

const header: Header = {
  ...{ version: "1.2.3", at: "2026-01-01T00:00:00.000Z", formats: { "store.db": 3 } },
  ...{ masterKeys: ["0123456789abcdef"], hasKeys: false, bytes: 11 },
};
const CONTENT = { "store.db": "records", "payloads/one": "long", "payloads/none": "" };

async function* pieces(...texts: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

async function* parts(content: Record<string, string> = CONTENT): AsyncGenerator<Part> {
  for (const [name, text] of Object.entries(content)) yield { name, bytes: text.length, content: pieces(text) };
}

async function bytesOf(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(source));
}

async function read(bytes: AsyncIterable<Uint8Array>) {
  const reading = await readArchive(bytes);
  const content: Record<string, string> = {};
  for await (const part of reading.parts) content[part.name] = (await bytesOf(part.content)).toString();
  return { header: reading.header, content };
}

const whole = { header, content: CONTENT };

test("a backup is read as it was written, however its bytes are divided", async () => {
  const bytes = await bytesOf(archived(header, parts()));
  expect(bytes.toString("latin1", 0, 18)).toBe("millrace-backup 1\n");
  expect(await read(pieces(bytes))).toEqual(whole);
  expect(await read(pieces(...[...bytes].map((byte) => Uint8Array.of(byte))))).toEqual(whole);
});

test("a backup that was cut is refused, wherever it was cut", async () => {
  const bytes = await bytesOf(archived(header, parts()));
  for (let length = 0; length < bytes.length; length++)
    await expect(read(pieces(bytes.subarray(0, length))), `${length}`).rejects.toThrow(NoBackup);
  await expect(read(pieces(bytes.subarray(0, -1)))).rejects.toThrow("it is cut: it ends before its end mark");
});

test("a backup in which a byte was changed is refused, or reads the same", async () => {
  const bytes = await bytesOf(archived(header, parts()));
  for (let place = 0; place < bytes.length; place++) {
    const changed = Buffer.from(bytes);
    changed[place]! ^= 0x10;
    const outcome = await read(pieces(changed)).catch((error: unknown) => error);
    if (!(outcome instanceof NoBackup)) expect(outcome, `byte ${place}`).toEqual(whole);
  }
});

test.each([
  ["anything else", "hello", "its first line is not a backup's"],
  [
    "a newer format",
    "millrace-backup 2\nwhatever",
    "it has backup format 2, but this release of Millrace reads formats up to 1",
  ],
])("%s is refused", async (_, text, why) => {
  await expect(read(pieces(text))).rejects.toThrow(why);
});

/** Parts that another program may have made. */
async function* lines(...made: object[]): AsyncGenerator<Uint8Array> {
  yield* pieces("millrace-backup 1\n");
  yield* blocks(pieces(...made.map((one) => `${JSON.stringify(one)}\n`)));
}

test.each([
  ["a part outside the folder", [header, { part: "../up", bytes: 0 }], "what comes after the header is no part"],
  ["an end mark of other parts", [header, { end: 0, sha256: "0" }], "its end mark does not fit"],
  ["a header without a time", [{ ...header, at: 5 }], "its header is not one that this release knows"],
])("%s is refused", async (_, made, why) => {
  await expect(read(lines(...made))).rejects.toThrow(why);
});

test("what comes behind the end mark is refused", async () => {
  const bytes = await bytesOf(archived(header, parts()));
  await expect(read(pieces(bytes, "more"))).rejects.toThrow("something comes behind its last block");
});

test("a file that changes its size while it is read fails the backup", async () => {
  async function* growing(): AsyncGenerator<Part> {
    yield { name: "store.db", bytes: 3, content: pieces("more than that") };
  }
  await expect(bytesOf(archived(header, growing()))).rejects.toThrow("store.db changed its size from 3 to 14");
});

test("a part of many blocks is read as it was written", async () => {
  const large = { "store.db": "0123456789".repeat(300_000) };
  const bytes = await bytesOf(archived(header, parts(large)));
  expect(bytes.length).toBeLessThan(100_000);
  expect((await read(pieces(bytes))).content).toEqual(large);
});

const passphrase = "correct horse battery";
const identity = await generateIdentity();
const recipients = [await identityToRecipient(identity)];
const opened = async (bytes: Uint8Array, openers: Openers) => read(await unsealed(pieces(bytes), openers));

test("a backup for the holder of a key opens with the key, and says why it does not without", async () => {
  const bytes = await bytesOf(await sealed(archived(header, parts()), { recipients }));
  expect(bytes.toString("latin1")).toMatch(/^age-encryption\.org\/v1\n/);
  expect(await opened(bytes, { identities: [`# created by age-keygen\n${identity}\n`] })).toEqual(whole);
  await expect(opened(bytes, {})).rejects.toThrow("it is encrypted: name --passphrase-file, or --identity");
  const other = await generateIdentity();
  await expect(opened(bytes, { identities: [other] })).rejects.toThrow("not for this passphrase or key");
  await expect(opened(bytes, { identities: ["nothing"] })).rejects.toThrow("no line AGE-SECRET-KEY");
  for (const length of [30, bytes.length - 200, bytes.length - 1])
    await expect(opened(bytes.subarray(0, length), { identities: [identity] }), `${length}`).rejects.toThrow(NoBackup);
  bytes[bytes.length - 20]! ^= 1;
  await expect(opened(bytes, { identities: [identity] })).rejects.toThrow("it is cut or changed");
});

test("a passphrase closes a backup too, and a recipient that is none is refused", async () => {
  const bytes = await bytesOf(await sealed(archived(header, parts()), { passphrase }));
  expect(await opened(bytes, { passphrase })).toEqual(whole);
  await expect(sealed(pieces("x"), { recipients: ["somebody"] })).rejects.toThrow("'somebody' is no recipient");
});

test("a file that is not encrypted is refused where a passphrase or a key is named, since anybody could have made it", async () => {
  const bytes = await bytesOf(archived(header, parts()));
  expect(await opened(bytes, {})).toEqual(whole);
  const identity = await generateIdentity();
  for (const openers of [{ passphrase }, { identities: [identity] }])
    await expect(opened(bytes, openers)).rejects.toThrow("it is not encrypted");
});
