/** The server asks registries that strangers name, and tells strangers nothing of its own network. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { realClock } from "../../kernel/clock.ts";
import { Registries } from "./registry.ts";

const SECRET = "the key of the cloud";
const DIGEST = `sha256:${"a".repeat(64)}`;

async function answering(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const ask = (image: string, plain: string[] = []) =>
  new Registries({ plain, trusted: [], reachable: [], clock: realClock }).lookUp(image, {
    signal: new AbortController().signal,
  });

test.each([
  "localhost:2379/a/b:1",
  "127.0.0.1/a/b:1",
  "169.254.169.254/a/b:1",
  "10.219.0.1:443/a/b:1",
  "[::1]:80/a/b:1",
])("an image at %s is refused before anything is asked", async (image) => {
  await expect(ask(image)).rejects.toThrow(/is not a public address|no reference of an image/);
});

test("a registry that the operator named is asked, also without TLS", async () => {
  const host = await answering((_, response) => response.setHeader("docker-content-digest", DIGEST).end("{}"));
  expect(await ask(`${host}/a/b:1`, [host])).toBe(`${host}/a/b@${DIGEST}`);
});

test("a registry can neither send the server on to a private address nor name one for a token", async () => {
  const inside = await answering((_, response) => response.writeHead(404).end(SECRET));
  const location = `http://${inside}/`;
  const sendsOn = await answering((_, response) => response.writeHead(307, { location }).end());
  await expect(ask(`${sendsOn}/a/b:1`, [sendsOn])).rejects.toThrow("is not a public address");
  const login = { "www-authenticate": `Bearer realm="${location}"` };
  const wantsToken = await answering((_, response) => response.writeHead(401, login).end());
  await expect(ask(`${wantsToken}/a/b:1`, [wantsToken])).rejects.toThrow("is not a public address");
});

test("what something says that is no registry is not repeated", async () => {
  const host = await answering((_, response) => response.writeHead(404).end(SECRET));
  const refusal = await ask(`${host}/a/b:1`, [host]).catch((error: Error) => error.message);
  expect(refusal).toBe(`cannot pull ${host}/a/b:1: the registry says 404`);
});
