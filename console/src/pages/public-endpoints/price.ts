/** The price of a public endpoint in a few words. */
import type { PublicEndpoint } from "@millrace/platform/resources/public-endpoints/model.ts";
import { moneyText } from "../../design/facts.tsx";

const PARTS = [
  ["perRequest", "a request"],
  ["perSecond", "a second"],
  ["perMillionInputTokens", "a million input tokens"],
  ["perMillionOutputTokens", "a million output tokens"],
] as const;

/** Who may call it, beside the account that shares it. */
export function whoMay({
  everyone,
  accounts = [],
}: {
  everyone: boolean;
  accounts?: readonly string[] | undefined;
}): string {
  if (everyone) return "Every account of the installation";
  if (accounts.length === 0) return "No other account yet";
  return accounts.length === 1 ? "One other account" : `${accounts.length} other accounts`;
}

export function priceText({ price }: Pick<PublicEndpoint, "price">): string {
  const parts = PARTS.filter(([name]) => price[name] > 0).map(([name, per]) => `${moneyText(price[name])} ${per}`);
  return parts.length === 0 ? "Free" : parts.join(", ");
}
