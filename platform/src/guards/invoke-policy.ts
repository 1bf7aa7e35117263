/** How often and how many at once each operation of an endpoint may be called: the documented numbers and their setting. */

export interface OperationLimit {
  /** Requests per ten seconds. */
  rate: number;
  /** Requests at once. If absent, there is no limit. */
  atOnce?: number;
}

/** The documented numbers. Those of health, retry and batch are our own. */
export const STANDARD = {
  runsync: { rate: 2000, atOnce: 400 },
  run: { rate: 1000, atOnce: 200 },
  status: { rate: 2000, atOnce: 400 },
  cancel: { rate: 100, atOnce: 20 },
  "purge-queue": { rate: 2 },
  openai: { rate: 2000, atOnce: 400 },
  requests: { rate: 10, atOnce: 2 },
  health: { rate: 2000, atOnce: 400 },
  retry: { rate: 100, atOnce: 20 },
  batch: { rate: 100, atOnce: 20 },
} as const satisfies Record<string, OperationLimit>;

export type LimitedOperation = keyof typeof STANDARD;
export type InvokePolicy = Record<LimitedOperation, OperationLimit>;

/** Parses `off`, `on`, or changes to `on` such as `run=50/10,purge-queue=5`: requests per ten seconds, and at once. */
export function parseInvokeLimits(text: string): InvokePolicy | undefined {
  if (text === "off") return undefined;
  const policy: InvokePolicy = { ...STANDARD };
  if (text === "on") return policy;
  for (const part of text.split(",")) {
    const [, name, rate, atOnce] = /^([a-z-]+)=([1-9]\d{0,8})(?:\/([1-9]\d{0,8}))?$/.exec(part.trim()) ?? [];
    if (name === undefined || !Object.hasOwn(STANDARD, name))
      throw new Error(`must be 'on', 'off' or a list such as run=1000/200 of ${Object.keys(STANDARD).join(", ")}`);
    policy[name as LimitedOperation] = {
      rate: Number(rate),
      ...(atOnce === undefined ? {} : { atOnce: Number(atOnce) }),
    };
  }
  return policy;
}
