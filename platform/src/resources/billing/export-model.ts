/** The usage export as callers read it: one line for everything that was charged. */
import { dateTime, nullable, oneOf, type Static, t } from "../../kernel/schema.ts";

const money = (description: string) =>
  t.String({ pattern: "^\\d+\\.\\d{9}$", description: `USD, exact: ${description}` });
const count = (description: string) => nullable(t.Integer({ minimum: 0, description }));
const word = (description: string) => nullable(t.String({ description }));

const ExportLine = t.Object(
  {
    accountId: t.String({ description: "The account that is charged, or that earned it." }),
    accountName: t.String({ description: "Its name now." }),
    kind: oneOf(["pod", "serverless", "cluster", "network-volume", "public-endpoint"]),
    item: oneOf(["gpu", "cpu", "disk", "storage", "requests"]),
    resourceId: t.String({
      description: "The Pod, endpoint, cluster or network volume, or the name of the public endpoint.",
    }),
    resourceName: word("Its name now; null if it has none, or was deleted."),
    instanceId: word("The worker, Pod or volume."),
    gpuType: word("For GPUs."),
    gpuCount: count("For GPUs."),
    cpuFlavor: word("For vCPUs."),
    vcpu: nullable(t.Number({ minimum: 0, description: "For vCPUs." })),
    sizeGb: nullable(t.Number({ minimum: 0, description: "For disks and volumes." })),
    dataCenterId: word("Where it was."),
    startTime: dateTime("When the line begins, within the time that was asked for."),
    endTime: dateTime("When it ends."),
    seconds: t.String({
      pattern: "^\\d+\\.\\d{3}$",
      description: "How long. For public endpoints, how long the jobs ran.",
    }),
    requests: count("For public endpoints: jobs that ended in this hour."),
    unitPrice: nullable(money("what all of it costs for an hour or a month. Null for public endpoints.")),
    per: nullable(oneOf(["hour", "month"], { description: "What `unitPrice` is for. A month has 730 hours." })),
    amount: money("what the account owes for this line."),
    income: money("what other accounts owe it for its public endpoint."),
  },
  { $id: "UsageLine" },
);
export type ExportLine = Static<typeof ExportLine>;

/** The columns of the CSV form. */
export const exportFields = Object.keys(ExportLine.properties) as (keyof ExportLine)[];

export const UsageExport = t.Object(
  {
    startTime: dateTime("The first moment: the start of its hour."),
    endTime: dateTime("The end, which is not part of it."),
    lines: t.Array(ExportLine, { description: "In no order." }),
    lineCount: t.Integer({ minimum: 0 }),
    totals: t.Object(
      { amount: money("all amounts together, which is the bill."), income: money("all income together.") },
      { description: "Over all lines." },
    ),
  },
  { $id: "UsageExport" },
);

export const exportQuery = {
  startTime: t.Optional(dateTime("Moved back to where its hour begins; 30 days ago by default.")),
  endTime: t.Optional(dateTime("Not itself in it. Moved on to where its hour ends; now by default.")),
  format: t.Optional(
    oneOf(["json", "csv"], { default: "json", description: "CSV is as RFC 4180 says, with a first row of names." }),
  ),
};

/** What both exports answer with. */
export const exportTexts = {
  "application/json": UsageExport,
  "text/csv": t.String({ description: "The lines, with the names of their fields in the first row." }),
};
