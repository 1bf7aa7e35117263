/** The lines that the program of a Pod on a real server writes. */
import type { ServerPlace } from "./worker-place.ts";

/** Only what hangs takes so long, also on a machine that does much else. */
const HANGS_MS = 120_000;

/** Those that fit, once there are so many: what is kept, and what is written from then on. */
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

/** Of whole events: the last one may still be on its way. */
function linesOf(text: string): string[] {
  const data = text.slice(0, text.lastIndexOf("\n\n") + 1).split("\n");
  return data.filter((line) => line.startsWith("data: ")).map((line) => JSON.parse(line.slice("data: ".length)).line);
}
