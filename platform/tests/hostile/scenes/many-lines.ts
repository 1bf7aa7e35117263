/** A worker reports thousands of jobs at once, none of which is its own. */
import type { Scene } from "../stage.ts";

/** Bodies with too many lines are refused. The others are processed without blocking anyone else. */
const ANSWERS = [413, 204, 413, 204, 204, 200];

export const scenes: Scene[] = [
  {
    name: "a worker sends many short lines, and lists many jobs",
    async attack(stage) {
      const endpoint = await stage.hostileEndpoint("many-lines", { workers: { min: 0, max: 1 } });
      const { json, text } = await stage.hostile.call("POST", `/v2/${endpoint}/runsync?wait=60000`, { input: {} });
      if (JSON.stringify(json.output) !== JSON.stringify(ANSWERS)) throw new Error(`it was answered ${text}`);
      await stage.remove(endpoint);
    },
  },
];
