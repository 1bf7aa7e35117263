/** Receives webhooks and checks their signatures. Prints each job that has ended; with `--once`, ends after the first. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";

const { MILLRACE_WEBHOOK_SECRET: secret = "", PORT = "8090" } = process.env;
const LARGEST = 32 * 1024 * 1024;
const OLDEST_S = 300;

const server = createServer(async (request, response) => {
  // For a script that waits until the receiver is there.
  if (request.method === "GET") return response.end("ready\n");
  const body = await bodyOf(request);
  const isOurs = body !== undefined && isSigned(String(request.headers["x-millrace-signature"]), body);
  // Only 200 counts as received. Anything else makes Millrace send it again.
  response.writeHead(isOurs ? 200 : 401).end();
  if (!isOurs) return;
  console.log(body);
  if (process.argv.includes("--once")) server.close();
});
server.listen(Number(PORT), "127.0.0.1");

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request) {
    length += part.length;
    if (length > LARGEST) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

/** The signature is `t=<seconds>,v1=<hex>`. An old one is refused, since somebody may have recorded it. */
function isSigned(signature: string, body: string): boolean {
  const [, seconds, given] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
  if (seconds === undefined || given === undefined) return false;
  if (Math.abs(Date.now() / 1000 - Number(seconds)) > OLDEST_S) return false;
  const made = createHmac("sha256", secret).update(`${seconds}.${body}`).digest();
  return timingSafeEqual(made, Buffer.from(given, "hex"));
}
