/** A load-balanced worker whose answers are none. */
import type { Scene } from "../stage.ts";

const PATHS = ["/latin"];

export const scenes: Scene[] = [
  {
    name: "a worker answers with what HTTP does not allow",
    async attack(stage) {
      const scaling = { type: "REQUEST_COUNT", requestCount: 1 };
      const endpoint = await stage.hostileEndpoint("odd-answers", { type: "LOAD_BALANCER", scaling });
      for (const path of PATHS) {
        const { status } = await stage.hostile.call("GET", `/v2/${endpoint}${path}`);
        if (status !== 200 && status !== 502) throw new Error(`${path} was answered with ${status}`);
      }
      await stage.remove(endpoint);
    },
  },
];
