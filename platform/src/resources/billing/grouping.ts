/** How a billing history is grouped and filtered. */
import type { KeptSpan } from "../../metering/span.ts";

const groupings = ["owner", "gpuType", "instance"] as const;
export type Grouping = (typeof groupings)[number];

/** A span matches a list if it has any of its values. */
export interface SpanFilter {
  gpuTypes?: readonly string[] | undefined;
  dataCenters?: readonly string[] | undefined;
  image?: string | undefined;
  template?: string | undefined;
}

export function groupBy(by: Grouping | undefined): (span: KeptSpan) => string | undefined {
  return by === undefined ? () => undefined : (span) => span[by] ?? undefined;
}

export function isWithin({ gpuTypes, dataCenters, image, template }: SpanFilter, span: KeptSpan): boolean {
  return (
    isAmong(gpuTypes, span.gpuType) &&
    isAmong(dataCenters, span.dataCenter) &&
    (image === undefined || span.image === image) &&
    (template === undefined || span.template === template)
  );
}

const isAmong = (asked: readonly string[] | undefined, value: string | null): boolean =>
  asked === undefined || (value !== null && asked.includes(value));
