/** Runs the world that a seed makes. */
import { simulateFleet } from "./fleet/world.ts";
import { kindOf } from "./kinds.ts";
import type { Trace } from "./trace.ts";
import { simulate } from "./world.ts";

export const simulateSeed = (seed: number): Promise<Trace> =>
  kindOf(seed) === "fleet" ? simulateFleet({ seed }) : simulate({ seed, disk: "memory" });
