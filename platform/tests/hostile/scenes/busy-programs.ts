/** Programs that use all processors. */
import { stay } from "../../../src/kernel/clock.ts";
import type { Scene } from "../stage.ts";

const PROGRAMS = 4;
const ATTACK_MS = 2000;

export const scenes: Scene[] = [
  {
    name: "programs compute on more threads than there are processors",
    async attack(stage) {
      const endpoint = await stage.hostileEndpoint("busy", { workers: { min: PROGRAMS, max: PROGRAMS } });
      await stay(ATTACK_MS);
      await stage.remove(endpoint);
    },
  },
];
