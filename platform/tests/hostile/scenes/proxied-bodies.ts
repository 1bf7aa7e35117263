/** Many large bodies go through a load-balanced application and back at the same time. */
import { askAgainAndAgain } from "../callers.ts";
import type { Scene } from "../stage.ts";

const CALLERS = 4;
const ATTACK_MS = 1500;
const BODY = new Uint8Array(4_000_000).fill(120);

export const scenes: Scene[] = [
  {
    name: "large bodies go through an application, side by side",
    async attack(stage) {
      const scaling = { type: "REQUEST_COUNT", requestCount: 100 };
      const endpoint = await stage.hostileEndpoint("echo", { type: "LOAD_BALANCER", scaling });
      const headers = { authorization: stage.hostile.key };
      const url = `${stage.server.url}/v2/${endpoint}/`;
      await askAgainAndAgain(CALLERS, ATTACK_MS, async () => {
        const answer = await fetch(url, { method: "POST", headers, body: BODY });
        const { byteLength } = await answer.arrayBuffer();
        if (answer.status !== 200 || byteLength !== BODY.length)
          throw new Error(`${byteLength} bytes came back with ${answer.status}`);
      });
      await stage.remove(endpoint);
    },
  },
];
