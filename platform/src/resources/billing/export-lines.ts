/** The lines of a usage export: what was used, by whom, for how long, at which price and for what amount. */
import { timestamp } from "../../kernel/clock.ts";
import { exactUsd } from "../../kernel/money.ts";
import { type Component, costUntil, HOURS_PER_MONTH, reckoned, type Window } from "../../metering/reckoning.ts";
import type { KeptSpan, SpanKind } from "../../metering/span.ts";
import type { Charges } from "../../ports/queue/queue.ts";
import { type ExportLine, exportFields } from "./model.ts";

export interface Billed {
  id: string;
  name: string;
}

/** A line, and its sums in 1e-9 USD. */
export interface Drawn {
  line: ExportLine;
  amount: bigint;
  income: bigint;
}

/** A line before it is known whose it is. */
type Draft = Omit<ExportLine, "accountId" | "accountName" | "amount" | "income"> & { amount: bigint; income: bigint };

const WORDS: Record<SpanKind, ExportLine["kind"]> = {
  pod: "pod",
  worker: "serverless",
  member: "cluster",
  volume: "network-volume",
};
const HOUR_MS = 3_600_000;
const HOURS = BigInt(HOURS_PER_MONTH);

export function lineOf({ id, name }: Billed, { amount, income, ...draft }: Draft): Drawn {
  const sums = { amount: exactUsd(amount), income: exactUsd(income) };
  return { line: { accountId: id, accountName: name, ...draft, ...sums }, amount, income };
}

/** One line for each part that cost something in this time. Their amounts are those of the bill. */
export function* linesOfSpan(span: KeptSpan, { from, to }: Window, now: number): Generator<Draft> {
  const paid = reckoned(span, now);
  if (!paid || paid.to <= from || paid.from >= to) return;
  const [start, end] = [Math.max(paid.from, from), Math.min(paid.to, to)];
  for (const [component, rate] of paid.rates) {
    const amount = costUntil(rate, paid, to) - costUntil(rate, paid, from);
    if (amount === 0n) continue;
    yield {
      kind: WORDS[span.kind],
      item: span.kind === "volume" ? "storage" : component,
      ...{ resourceId: span.owner, resourceName: null, instanceId: span.instance },
      ...sizeOf(span, component),
      ...{ dataCenterId: span.dataCenter, startTime: timestamp(start), endTime: timestamp(end) },
      ...{ seconds: secondsOf(end - start), requests: null, ...priceOf(rate, component) },
      ...{ amount, income: 0n },
    };
  }
}

/** The price of the whole thing: all GPUs, all vCPUs, or all GB. */
function priceOf(rate: bigint, component: Component): Pick<ExportLine, "unitPrice" | "per"> {
  return component === "disk"
    ? { unitPrice: exactUsd(rate), per: "month" }
    : { unitPrice: exactUsd(rate / HOURS), per: "hour" };
}

type Size = Pick<ExportLine, "gpuType" | "gpuCount" | "cpuFlavor" | "vcpu" | "sizeGb">;
const NO_SIZE: Size = { gpuType: null, gpuCount: null, cpuFlavor: null, vcpu: null, sizeGb: null };

function sizeOf({ gpuType, gpuCount, flavor, vcpu, diskGb, persistentGb = 0 }: KeptSpan, component: Component): Size {
  if (component === "disk") return { ...NO_SIZE, sizeGb: diskGb + persistentGb };
  return component === "gpu" ? { ...NO_SIZE, gpuType, gpuCount } : { ...NO_SIZE, cpuFlavor: flavor, vcpu };
}

/** What an account owes for a public endpoint in an hour, or what one brought. An hour without cost has no line. */
export function* linesOfCharge(account: Billed, charge: Charges, side: "amount" | "income"): Generator<Drawn> {
  const { hour, share, endpoint, requests, executionMs } = charge;
  const amount = BigInt(charge.amount);
  if (amount === 0n) return;
  yield lineOf(account, {
    ...{ kind: "public-endpoint", item: "requests" },
    ...{ resourceId: side === "income" ? endpoint : share, resourceName: share, instanceId: null, ...NO_SIZE },
    ...{ dataCenterId: null, startTime: timestamp(hour), endTime: timestamp(hour + HOUR_MS) },
    ...{ seconds: secondsOf(executionMs), requests, unitPrice: null, per: null },
    ...{ amount: 0n, income: 0n, [side]: amount },
  });
}

const secondsOf = (ms: number) => `${Math.floor(ms / 1000)}.${String(Math.floor(ms) % 1000).padStart(3, "0")}`;

export const csvHead = () => rowOf([...exportFields]);

export const csvLine = (line: ExportLine) => rowOf(exportFields.map((name) => String(line[name] ?? "")));

/** RFC 4180. */
const rowOf = (cells: readonly string[]) => `${cells.map(cellOf).join(",")}\r\n`;

/** Names come from other people: one that a spreadsheet would take for a formula gets an apostrophe. */
function cellOf(text: string): string {
  const safe = /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
