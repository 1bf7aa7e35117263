/** Asks the program of a Pod something over HTTP, to see whether it answers as its listing promises. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "../../kernel/clock.ts";
import type { KeptCase } from "./model.ts";

const LIMIT_MS = 10_000;
const MOST_BYTES = 262_144;

/** Returns why the answer is not what was expected, or undefined if it is. */
export async function askPod(
  dial: () => Promise<Duplex>,
  { path, port, status, contains }: NonNullable<KeptCase["request"]>,
  clock: Clock,
): Promise<string | undefined> {
  let socket: Duplex | undefined;
  let isLate = false;
  const timer = clock.after(LIMIT_MS, () => {
    isLate = true;
    socket?.destroy();
  });
  try {
    const connection = await dial();
    socket = connection;
    const asked = request({
      path,
      headers: { host: `pod:${port}`, connection: "close" },
      createConnection: () => connection,
    });
    // A failure after the answer began is seen by those who read it.
    asked.on("error", () => {});
    asked.end();
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    const text = await textOf(answer);
    if (answer.statusCode !== status) return `port ${port} answered ${answer.statusCode}, and not ${status}`;
    if (contains !== undefined && !text.includes(contains))
      return `port ${port} answered without '${contains.slice(0, 200)}'`;
    return undefined;
  } catch (error) {
    return isLate ? `port ${port} did not answer in ${LIMIT_MS / 1000} s` : `port ${port}: ${(error as Error).message}`;
  } finally {
    timer.cancel();
    socket?.destroy();
  }
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of answer) {
    pieces.push(piece as Buffer);
    length += (piece as Buffer).length;
    if (length > MOST_BYTES) break;
  }
  return Buffer.concat(pieces).toString();
}
