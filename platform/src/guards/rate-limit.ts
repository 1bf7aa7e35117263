/** Rate limiting per user: the verdict of the limits port as headers, and the refusal when a window is used up. */
import { serializeList } from "structured-headers";
import type { Caller } from "../kernel/caller.ts";
import type { Clock } from "../kernel/clock.ts";
import { problem } from "../kernel/problem.ts";
import type { Limits, WindowPolicy, WindowState } from "../ports/limits/limits.ts";

const WINDOWS = [
  { name: "minute", seconds: 60 },
  { name: "hour", seconds: 3600 },
  { name: "day", seconds: 86_400 },
] as const;

/** `600,18000,200000` (requests a minute, an hour, a day), or `off`. */
export function parsePolicy(text: string): WindowPolicy[] | "off" {
  if (text === "off") return "off";
  const quotas = text.split(",").map((part) => part.trim());
  if (quotas.length !== WINDOWS.length || !quotas.every((quota) => /^[1-9]\d{0,14}$/.test(quota))) {
    throw new Error(`MILLRACE_RATE_LIMITS must be 'off' or three numbers for minute, hour and day, not '${text}'`);
  }
  return WINDOWS.map((window, i) => ({ ...window, quota: Number(quotas[i]) }));
}

export class RateLimiter {
  readonly #limits: Limits;
  readonly #policy: WindowPolicy[] | "off";
  readonly #policyHeader: string;
  readonly #clock: Clock;

  constructor({ limits, policy, clock }: { limits: Limits; policy: WindowPolicy[] | "off"; clock: Clock }) {
    this.#limits = limits;
    this.#policy = policy;
    this.#clock = clock;
    this.#policyHeader =
      policy === "off" ? "" : list(policy.map(({ name, quota, seconds }) => [name, { q: quota, w: seconds }]));
  }

  /** Counts the request and returns the headers its answer carries; none for a caller who is exempt. */
  async count(caller: Caller): Promise<Record<string, string>> {
    if (this.#policy === "off" || caller.exempt) return {};
    const { allowed, windows } = await this.#limits.take(caller.user, this.#policy, this.#clock.now());
    const headers = {
      RateLimit: list(windows.map((window) => [window.name, { r: window.remaining, t: secondsToReset(window) }])),
      "RateLimit-Policy": this.#policyHeader,
    };
    if (!allowed) throw refusal(windows, headers);
    return headers;
  }
}

/** Of several exhausted windows the one that resets last is named: before that, trying again is useless. */
function refusal(windows: WindowState[], headers: Record<string, string>) {
  const exhausted = windows.filter(({ remaining }) => remaining === 0);
  const last = exhausted.reduce((a, b) => (b.resetMs > a.resetMs ? b : a));
  return problem("too-much", `rate limit exceeded for the ${last.name} window`, {
    headers,
    retryAfterS: Math.max(1, secondsToReset(last)),
  });
}

const secondsToReset = ({ resetMs }: WindowState) => Math.max(0, Math.ceil(resetMs / 1000));

/** An RFC 8941 list of strings with integer parameters. */
function list(members: [name: string, parameters: Record<string, number>][]): string {
  return serializeList(members.map(([name, parameters]) => [name, new Map(Object.entries(parameters))]));
}
