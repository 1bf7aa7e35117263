/** A load-balanced worker whose answers are not valid HTTP. */
import type { Scene, Stage } from "../stage.ts";

const CLEAN = ["latin", "control", "body204", "body304", "extension", "extensions", "after"];
const REFUSED = [
  ...["zero", "low", "high", "long", "switching", "hints", "nul", "name", "folded", "split", "lengths", "both", "gzip"],
  ...["headers", "header", "nothing", "half", "reset"],
];
/** Once an answer has begun, it is too late to refuse it. */
const CUT_OFF = ["chunk", "huge", "trailers", "endless"];
const PATIENCE_MS = 200;
const LARGE_BODY = "x".repeat(1_000_000);

/** The status of the answer, or undefined where it broke off. */
type Asking = (path: string, more?: RequestInit) => Promise<number | undefined>;

const asking =
  ({ server, hostile }: Stage, endpoint: string): Asking =>
  async (path, more = {}) => {
    try {
      const headers = { authorization: hostile.key };
      const answer = await fetch(`${server.url}/v2/${endpoint}/${path}`, { headers, ...more });
      await answer.arrayBuffer();
      return answer.status;
    } catch {
      return undefined;
    }
  };

/** The worker closes connections without announcing it, perhaps while a request is on its way. That request is sent again. */
async function askedTwice(ask: Asking, path: string): Promise<number | undefined> {
  const status = await ask(path);
  return status === 502 ? ask(path) : status;
}

function check(path: string, status: number | undefined, allowed: (number | undefined)[]): void {
  if (!allowed.includes(status)) throw new Error(`${path} was answered with ${status}`);
}

export const scenes: Scene[] = [
  {
    name: "a worker answers with what HTTP does not allow",
    async attack(stage) {
      const scaling = { type: "REQUEST_COUNT", requestCount: 100 };
      const endpoint = await stage.hostileEndpoint("odd-answers", { type: "LOAD_BALANCER", scaling });
      const ask = asking(stage, endpoint);
      for (const path of CLEAN) check(path, await askedTwice(ask, path), [200, 204, 304]);
      for (const path of REFUSED) check(path, await ask(path), [502]);
      for (const path of CUT_OFF) check(path, await ask(path), [502, undefined]);
      // The worker answers before it has read the whole body. A client that is still sending may see the connection close.
      await ask("latin", { method: "POST", body: LARGE_BODY });
      await Promise.all(Array.from({ length: 10 }, () => ask("silent", { signal: AbortSignal.timeout(PATIENCE_MS) })));
      await stage.remove(endpoint);
    },
  },
];
