/** An account that wants as many workers as possible. */
import { stay } from "../../../src/kernel/clock.ts";
import { CPU, type Scene } from "../stage.ts";

/** The quota of an account on the smallest machine. */
const QUOTA = 32;
/** Long enough for more starts than a machine runs at once. */
const STARTING_MS = 1500;

export const scenes: Scene[] = [
  {
    name: "an account asks for thousands of workers",
    async attack({ hostile }) {
      const body = { name: "thousands", image: "busybox", ...CPU, workers: { min: 10_000, max: 10_000 } };
      const { status, text } = await hostile.call("POST", "/v2/serverless", body);
      if (status !== 400 || !text.includes("workers at once")) throw new Error(`answered ${status}: ${text}`);
    },
  },
  {
    name: "an account starts all the workers that it may have, and ends them",
    async attack(stage) {
      const workers = { min: QUOTA, max: 10_000 };
      const endpoint = await stage.hostileEndpoint("many", { cmd: ["sleep", "60"], workers });
      await stay(STARTING_MS);
      await stage.remove(endpoint);
    },
  },
];
