/** Reads how long something lasts, as people write it: `30d`, `12h`, `15m` or `45s`. */
import { InvalidArgumentError } from "commander";

const UNIT_MS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function parseDuration(text: string): number {
  const match = /^(\d+)([smhd])$/.exec(text);
  if (!match || Number(match[1]) === 0)
    throw new InvalidArgumentError("give a number and a unit, such as 30d, 12h, 15m or 45s");
  return Number(match[1]) * UNIT_MS[match[2]!]!;
}
