/** A load-balanced worker that breaks connections which have to be made from inside its network. */
import type { Scene, Stage } from "../stage.ts";

const CALLERS = 8;
const REQUESTS_EACH = 10;
const PATIENCE_MS = 200;
/** The expected statuses: answered, refused, or a bad gateway because the worker broke the connection. */
const PROPER = [200, 400, 502];

export const scenes: Scene[] = [
  {
    name: "a worker on its own loopback resets connections",
    async attack(stage) {
      const scaling = { type: "REQUEST_COUNT", requestCount: CALLERS };
      const endpoint = await stage.hostileEndpoint("resets", { type: "LOAD_BALANCER", scaling });
      await Promise.all(Array.from({ length: CALLERS }, () => callAgainAndAgain(stage, endpoint)));
      await stage.remove(endpoint);
    },
  },
];

async function callAgainAndAgain({ server, hostile }: Stage, endpoint: string): Promise<void> {
  for (let i = 0; i < REQUESTS_EACH; i++) {
    const asked = fetch(`${server.url}/v2/${endpoint}/`, {
      headers: { authorization: hostile.key },
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    // The worker or this client may have broken the request off. It only matters that others notice nothing.
    const status = await asked.then(
      async (answer) => {
        await answer.text().catch(() => undefined);
        return answer.status;
      },
      () => undefined,
    );
    if (status !== undefined && !PROPER.includes(status)) throw new Error(`a reset was answered with ${status}`);
  }
}
