/** A server with a TLS listener: what is served there, a certificate that is replaced while it runs, and a pair that does not fit. */
import { once } from "node:events";
import { rename, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { connect } from "node:tls";
import { expect, test } from "vitest";
import { realClock, sleep } from "../src/kernel/clock.ts";
import { first, second } from "./certificates.ts";
import { freePort } from "./postgres-server.ts";
import { ownerKey, startServer, temporaryFolder } from "./process.ts";

async function serialAt(port: number): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

async function statusAt(port: number, path: string, headers = {}): Promise<number> {
  const sent = request({ host: "127.0.0.1", port, path, headers, ca: first.certificate.cert, servername: "localhost" });
  sent.end();
  const [answer] = await once(sent, "response");
  answer.resume();
  return answer.statusCode;
}

test("a real server answers by TLS, and takes a new certificate while it runs", async () => {
  await using folder = await temporaryFolder();
  const [cert, key] = [join(folder.path, "tls.crt"), join(folder.path, "tls.key")];
  const put = async (file: string, text: string) => {
    await writeFile(`${file}.new`, text, { mode: 0o600 });
    await rename(`${file}.new`, file);
  };
  await put(cert, first.certificate.cert);
  await put(key, first.certificate.key);
  const port = await freePort();
  const data = join(folder.path, "data");
  const args = ["--tls-cert", cert, "--tls-key", key, "--tls-port", String(port), "--tls-host", "127.0.0.1"];
  await using server = await startServer(data, { args });
  const owner = await ownerKey(data);
  expect(await statusAt(port, "/readyz")).toBe(200);
  expect(await statusAt(port, "/v2/pods", { authorization: `Bearer ${owner}` })).toBe(200);
  expect(await statusAt(port, "/v2/pods")).toBe(401);
  expect(await serialAt(port)).toBe(first.serialNumber);

  // The key of another certificate: the duty says so, and the old pair stays.
  const duty = async () => {
    const { json } = await server.call("GET", "/v2/installation/duties", { key: owner });
    return json.duties.find(({ name }: { name: string }) => name.includes("certificate"));
  };
  await put(key, second.certificate.key);
  await happens(async () => (await duty()).failuresInRow > 0);
  expect(await serialAt(port)).toBe(first.serialNumber);
  await put(cert, second.certificate.cert);
  await happens(async () => (await serialAt(port)) === second.serialNumber);
  await happens(async () => (await duty()).failuresInRow === 0);
});

/** The files are looked at every ten seconds, and nothing tells others of it. */
async function happens(check: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (await check()) return;
    await sleep(realClock, 200);
  }
  throw new Error("it never happened");
}
