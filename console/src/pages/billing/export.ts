/** A billing history as CSV, with every amount that the API gives. */
import { csvOf } from "../../design/table-tools.tsx";
import { labelOf } from "../../forms/schema.ts";
import type { BillingRecord, History } from "./sums.ts";

export function historyCsv({ records }: History): string {
  const names = Object.keys(records[0] ?? {});
  return csvOf<BillingRecord>(
    names.map((name) => ({
      id: name,
      title: labelOf(name),
      value: (record) => plain((record as Record<string, unknown>)[name]),
    })),
    records,
  );
}

/** Without an exponent, which some spreadsheets take for text. */
const plain = (value: unknown) =>
  typeof value === "number" ? value.toFixed(9).replace(/\.?0+$/, "") : (value as string);
