/** Which world a seed makes: most make the job engine of one server, every eighth a whole platform with several nodes. */

/** A history of a fleet takes about as long as several of the job engine. */
const FLEET_EVERY = 8;

export const kindOf = (seed: number): "fleet" | "jobs" => (seed % FLEET_EVERY === 0 ? "fleet" : "jobs");
