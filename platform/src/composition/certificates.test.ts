/** The certificate of the TLS listener is read again when its files change. One that cannot be used is refused with the reason. */
import { generateKeyPairSync } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { first, second } from "../../tests/certificates.ts";
import { temporaryFolder } from "../../tests/process.ts";
import { recordingLog } from "../../tests/world.ts";
import { FakeClock } from "../kernel/clock.ts";
import { settingsFrom } from "../settings/settings.ts";
import type { Certificate } from "../surfaces/http/secure-server.ts";
import { Certificates, certificateFiles } from "./certificates.ts";

async function setup() {
  const folder = await temporaryFolder();
  const files = { cert: join(folder.path, "tls.crt"), key: join(folder.path, "tls.key") };
  const write = ({ cert, key }: Partial<Certificate>) => {
    // As programs that renew certificates do it.
    for (const [file, text] of [
      [files.cert, cert],
      [files.key, key],
    ] as const) {
      if (text === undefined) continue;
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    }
  };
  write(first.certificate);
  const presented: Certificate[] = [];
  const clock = new FakeClock();
  const { log } = recordingLog();
  return {
    ...{ files, write, presented, clock },
    open: () => Certificates.open(files, { clock, log, failed: () => {} }),
    present: (one: Certificate) => presented.push(one),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

test("a replaced pair is presented once, and an unchanged one never", async () => {
  await using world = await setup();
  const certificates = await world.open();
  expect(certificates.current).toEqual(first.certificate);
  await certificates.look(world.present);
  expect(world.presented).toEqual([]);
  world.write(second.certificate);
  await certificates.look(world.present);
  await certificates.look(world.present);
  expect(world.presented).toEqual([second.certificate]);
});

test("while only one of the files is new, the old pair stays and the reason is told", async () => {
  await using world = await setup();
  const certificates = await world.open();
  world.write({ cert: second.certificate.cert });
  await expect(certificates.look(world.present)).rejects.toThrow(/cannot be used for TLS: /);
  expect(certificates.current).toEqual(first.certificate);
  world.write({ key: second.certificate.key });
  await certificates.look(world.present);
  expect(world.presented).toEqual([second.certificate]);
});

test("the duty looks every ten seconds", async () => {
  await using world = await setup();
  const certificates = await world.open();
  const { promise, resolve } = Promise.withResolvers<Certificate>();
  await using _ = certificates.follow(resolve);
  world.write(second.certificate);
  await world.clock.advance(10_000);
  expect(await promise).toEqual(second.certificate);
});

test("a certificate that has ended is named", async () => {
  await using world = await setup();
  const certificates = await world.open();
  world.clock.now = () => Date.parse("2200-01-01");
  await expect(certificates.look(world.present)).rejects.toThrow(/ended at 21\d\d-.*: clients refuse it\. Renew/);
});

test("a server is not started with files that are missing, no certificate, or not a pair", async () => {
  await using world = await setup();
  world.write({ key: second.certificate.key });
  await expect(world.open()).rejects.toThrow("the key belongs to another certificate");
  const type = "pkcs8";
  const key = generateKeyPairSync("ed25519").privateKey;
  world.write({ key: key.export({ type, format: "pem", cipher: "aes-256-cbc", passphrase: "word" }) as string });
  await expect(world.open()).rejects.toThrow("the key has a passphrase: write it without one, as 'openssl pkey");
  world.write({ cert: "hello", key: second.certificate.key });
  await expect(world.open()).rejects.toThrow("cannot be used for TLS");
  await expect(Certificates.open({ ...world.files, key: "/none" }, {} as never)).rejects.toThrow(
    "/none, named for TLS, cannot be read (ENOENT)",
  );
  expect(() => certificateFiles(settingsFrom({ MILLRACE_TLS_CERT: "/a" }))).toThrow("belong together");
  expect(certificateFiles(settingsFrom({}))).toBeUndefined();
});
