/** The price of a public endpoint in a few words. */
import type { PublicEndpoint } from "@millrace/platform/resources/public-endpoints/model.ts";
import { moneyText } from "../../design/facts.tsx";

const PARTS = [
  ["perRequest", "a request"],
  ["perSecond", "a second"],
  ["perMillionInputTokens", "a million input tokens"],
  ["perMillionOutputTokens", "a million output tokens"],
] as const;

export function priceText({ price }: Pick<PublicEndpoint, "price">): string {
  const parts = PARTS.filter(([name]) => price[name] > 0).map(([name, per]) => `${moneyText(price[name])} ${per}`);
  return parts.length === 0 ? "Free" : parts.join(", ");
}
