/** Money is counted in whole numbers of 1e-9 USD and shown in USD. */

const PER_USD = 1_000_000_000;
/** Amounts up to this stay whole numbers: a double holds about 9,000,000 USD exactly. */
export const MOST_USD = 1_000_000;

export const nanosOf = (usd: number): number => Math.round(usd * PER_USD);

export const usdOf = (nanos: number | bigint): number => Number(nanos) / PER_USD;

/** Every digit, as programs that make invoices need it: `0.123456789`. */
export function exactUsd(nanos: bigint): string {
  const unit = BigInt(PER_USD);
  return `${nanos / unit}.${String(nanos % unit).padStart(9, "0")}`;
}

/** Formats money as `12.34 USD`. Amounts below a cent get as many digits as they need to differ from zero. */
export function moneyText(nanos: number | bigint): string {
  const usd = usdOf(nanos);
  const digits = usd !== 0 && Math.abs(usd) < 0.01 ? Math.min(9, 1 - Math.floor(Math.log10(Math.abs(usd)))) : 2;
  return `${usd.toFixed(digits)} USD`;
}
