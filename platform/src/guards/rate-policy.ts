/** The windows of the rate limit, and the setting that says how many requests each allows. */
import type { RequestLimits } from "../kernel/caller.ts";
import type { WindowPolicy } from "../ports/limits/limits.ts";

export type RatePolicy = WindowPolicy[] | "off";

const WINDOWS = [
  { name: "minute", seconds: 60 },
  { name: "hour", seconds: 3600 },
  { name: "day", seconds: 86_400 },
] as const;

/** Parses `600,18000,200000` (requests per minute, hour and day) or `off`. */
export function parsePolicy(text: string): RatePolicy {
  if (text === "off") return "off";
  const quotas = text.split(",").map((part) => part.trim());
  if (quotas.length !== WINDOWS.length || !quotas.every((quota) => /^[1-9]\d{0,14}$/.test(quota))) {
    throw new Error("must be 'off' or three numbers for minute, hour and day");
  }
  return WINDOWS.map((window, i) => ({ ...window, quota: Number(quotas[i]) }));
}

/** The windows of an account that has limits of its own. */
export const policyOf = (limits: RequestLimits): WindowPolicy[] =>
  WINDOWS.map((window) => ({ ...window, quota: limits[window.name] }));

/** Parses `60,1000,5000`: the limits of one account. */
export function parseRequestLimits(text: string): RequestLimits {
  const policy = parsePolicy(text);
  if (policy === "off") throw new Error("must be three numbers for minute, hour and day");
  const [minute, hour, day] = policy.map(({ quota }) => quota);
  return { minute: minute!, hour: hour!, day: day! };
}
