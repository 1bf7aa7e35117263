/** Reads the lines that a Pod's program writes on a real server. */
import type { ServerPlace } from "./worker-place.ts";

/** Only a hanging program takes this long, even on a busy machine. */
const HANGS_MS = 120_000;

/** Returns the matching lines once there are this many, from the log and from what is written later. */
export async function podLines(at: ServerPlace, pod: string, what: RegExp, count = 1): Promise<string[]> {
  const response = await fetch(`${at.server.url}/v2/pods/${pod}/logs?source=container&tail=1000`, {
    headers: { authorization: `Bearer ${at.key}` },
    signal: AbortSignal.timeout(HANGS_MS),
  });
  let text = "";
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const fitting = linesOf(text).filter((line) => what.test(line));
      if (fitting.length >= count) return fitting;
    }
  } catch (error) {
    throw new Error(`${what} was not said ${count} times: ${linesOf(text).join(" | ")}`, { cause: error });
  }
  throw new Error(`the log ended before ${what} was said ${count} times: ${linesOf(text).join(" | ")}`);
}

/** Takes only whole events, since the last one may still be arriving. */
function linesOf(text: string): string[] {
  const data = text.slice(0, text.lastIndexOf("\n\n") + 1).split("\n");
  return data.filter((line) => line.startsWith("data: ")).map((line) => JSON.parse(line.slice("data: ".length)).line);
}
