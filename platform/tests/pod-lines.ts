/** The lines that the program of a Pod on a real server has written so far. */
import { stay } from "../src/kernel/clock.ts";
import type { ServerPlace } from "./worker-place.ts";

/** What is kept comes at once. */
const READ_MS = 150;

export async function podLines({ server, key }: ServerPlace, pod: string): Promise<string[]> {
  const gone = new AbortController();
  const response = await fetch(`${server.url}/v2/pods/${pod}/logs?source=container&tail=1000`, {
    headers: { authorization: `Bearer ${key}` },
    signal: gone.signal,
  });
  let text = "";
  const late = stay(READ_MS).then(() => gone.abort());
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk;
  } catch {
    // The stream has no end of its own.
  }
  await late;
  const data = text.split("\n").filter((line) => line.startsWith("data: "));
  return data.map((line) => JSON.parse(line.slice("data: ".length)).line);
}
