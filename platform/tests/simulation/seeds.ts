/** Which world a seed makes: most make the job engine of one server, every eighth a whole platform with several nodes. */
import { simulateFleet } from "./fleet/world.ts";
import type { Trace } from "./trace.ts";
import { simulate } from "./world.ts";

/** A history of a fleet takes about as long as several of the job engine. */
const FLEET_EVERY = 8;

export const kindOf = (seed: number): "fleet" | "jobs" => (seed % FLEET_EVERY === 0 ? "fleet" : "jobs");

export const simulateSeed = (seed: number): Promise<Trace> =>
  kindOf(seed) === "fleet" ? simulateFleet({ seed }) : simulate({ seed, disk: "memory" });
