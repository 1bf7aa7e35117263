/** Rate limits per user, or per address for callers without a key: sets the headers, and refuses when a window is used up. */
import { serializeList } from "structured-headers";
import type { Caller, RequestLimits } from "../kernel/caller.ts";
import type { Clock } from "../kernel/clock.ts";
import { problem } from "../kernel/problem.ts";
import type { Limits, WindowPolicy, WindowState } from "../ports/limits/limits.ts";
import { policyOf, type RatePolicy } from "./rate-policy.ts";

interface RateLimiterParts {
  limits: Limits;
  policy: RatePolicy;
  /** For callers without a key. Each address is counted separately. */
  anonymous?: RatePolicy | undefined;
  clock: Clock;
}

export class RateLimiter {
  readonly #limits: Limits;
  readonly #users: RatePolicy;
  readonly #strangers: RatePolicy;
  readonly #clock: Clock;
  readonly #states = new WeakMap<Caller, WindowState[]>();
  /** The policies of accounts with limits of their own, which live as long as what was read of the account. */
  readonly #own = new WeakMap<RequestLimits, WindowPolicy[]>();

  constructor({ limits, policy, anonymous = "off", clock }: RateLimiterParts) {
    this.#limits = limits;
    this.#users = policy;
    this.#strangers = anonymous;
    this.#clock = clock;
  }

  /** The windows of a caller as its last request here left them. Empty if it has no limit. */
  windowsOf(caller: Caller): (WindowPolicy & WindowState)[] {
    const policy = this.#policyFor(caller);
    if (policy === "off") return [];
    const states = this.#states.get(caller) ?? [];
    return states.map((state, i) => ({ ...policy[i]!, ...state }));
  }

  /** Counts the request and returns the headers for its answer. An exempt caller gets none. */
  async count(caller: Caller): Promise<Record<string, string>> {
    const policy = this.#policyFor(caller);
    if (policy === "off" || caller.exempt) return {};
    const { allowed, windows } = await this.#limits.take(caller.user, policy, this.#clock.now());
    const headers = {
      RateLimit: list(windows.map((window) => [window.name, { r: window.remaining, t: secondsToReset(window) }])),
      "RateLimit-Policy": headerOf(policy),
    };
    if (!allowed) throw refusal(windows, headers);
    if (!caller.anonymous) this.#states.set(caller, windows);
    return headers;
  }

  #policyFor({ anonymous, requestLimits }: Caller): RatePolicy {
    if (anonymous) return this.#strangers;
    if (!requestLimits) return this.#users;
    const policy = this.#own.get(requestLimits) ?? policyOf(requestLimits);
    this.#own.set(requestLimits, policy);
    return policy;
  }
}

const headers = new WeakMap<object, string>();

/** The header is cached, because a policy gives the same one in every answer. */
function headerOf(policy: Exclude<RatePolicy, "off">): string {
  let header = headers.get(policy);
  if (header === undefined) {
    header = list(policy.map(({ name, quota, seconds }) => [name, { q: quota, w: seconds }]));
    headers.set(policy, header);
  }
  return header;
}

/** Of several exhausted windows, the one that resets last is named, because trying again before that is useless. */
function refusal(windows: WindowState[], headers: Record<string, string>) {
  const exhausted = windows.filter(({ remaining }) => remaining === 0);
  const last = exhausted.reduce((a, b) => (b.resetMs > a.resetMs ? b : a));
  return problem("too-much", `rate limit exceeded for the ${last.name} window`, {
    headers,
    reason: "rate-limited",
    retryAfterS: Math.max(1, secondsToReset(last)),
  });
}

const secondsToReset = ({ resetMs }: WindowState) => Math.max(0, Math.ceil(resetMs / 1000));

/** An RFC 8941 list of strings with integer parameters. */
function list(members: [name: string, parameters: Record<string, number>][]): string {
  return serializeList(members.map(([name, parameters]) => [name, new Map(Object.entries(parameters))]));
}
