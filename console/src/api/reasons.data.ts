/** What each reason code means, and its remedy. The build puts in the values, so that no model is loaded for them. */
import { reasons as all } from "@millrace/platform/contract.ts";

export const reasons: Readonly<Record<string, { means: string; remedy: string }>> = Object.fromEntries(
  Object.entries(all).map(([code, { means, remedy }]) => [code, { means, remedy }]),
);
