/** Money: counted in whole numbers of 1e-9 USD, said in USD. */

const PER_USD = 1_000_000_000;
/** What is counted stays a whole number: 9,000,000 USD are. */
export const MOST_USD = 1_000_000;

export const nanosOf = (usd: number): number => Math.round(usd * PER_USD);

export const usdOf = (nanos: number | bigint): number => Number(nanos) / PER_USD;

/** `12.34 USD`; of less than a cent as much as it takes to be more than nothing. */
export function moneyText(nanos: number | bigint): string {
  const usd = usdOf(nanos);
  const digits = usd !== 0 && Math.abs(usd) < 0.01 ? Math.min(9, 1 - Math.floor(Math.log10(Math.abs(usd)))) : 2;
  return `${usd.toFixed(digits)} USD`;
}
