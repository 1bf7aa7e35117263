/** Answers the REST v1 operations on billing histories. */
import { timestamp } from "../../kernel/clock.ts";
import type { Handlers } from "../../kernel/operation.ts";
import type { Grouping } from "./grouping.ts";
import type { billingOperationsV1 } from "./operations-v1.ts";
import { usd } from "./rest-v2.ts";
import type { Amounts, BillingService, Charge, HistoryRecord } from "./service.ts";

/** The grouping that each word of this API stands for. */
const groupings: Record<"podId" | "endpointId" | "gpuTypeId", Grouping> = {
  podId: "instance",
  endpointId: "owner",
  gpuTypeId: "gpuType",
};

const HIGH_PERFORMANCE: readonly Charge[] = ["volume HIGH_PERFORMANCE"];

export function billingHandlersV1(billing: BillingService): Handlers<typeof billingOperationsV1> {
  return {
    async podBilling({ caller, query: { podId, gpuTypeId, grouping = "gpuTypeId", ...window } }) {
      const where = { gpuTypes: gpuTypeId };
      const by = grouping === "podId" ? "owner" : groupings[grouping];
      const { records } = await billing.history(caller, {
        ...window,
        isExact: true,
        kind: "pod",
        owner: podId,
        where,
        by,
      });
      return records.map((record) => shown(record, grouping));
    },
    async endpointBilling({ caller, query: { endpointId, grouping = "endpointId", ...query } }) {
      const { gpuTypeId, dataCenterId, imageName, templateId, ...window } = query;
      const where = { gpuTypes: gpuTypeId, dataCenters: dataCenterId, image: imageName, template: templateId };
      const asked = {
        ...window,
        isExact: true,
        kind: "worker",
        owner: endpointId,
        where,
        by: groupings[grouping],
      } as const;
      return (await billing.history(caller, asked)).records.map((record) => shown(record, grouping));
    },
    async networkVolumeBilling({ caller, query }) {
      const { records } = await billing.history(caller, { ...query, isExact: true, kind: "volume" });
      return records.map(({ from, amounts, used }) => ({
        time: timestamp(from),
        amount: usd(sumOf(amounts)),
        diskSpaceBilledGb: used.gbOf(),
        highPerformanceStorageAmount: usd(sumOf(amounts, HIGH_PERFORMANCE)),
        highPerformanceStorageDiskSpaceBilledGb: used.gbOf(HIGH_PERFORMANCE),
      }));
    },
  };
}

/** A charge without a GPU has no GPU type. Clients read the disk in the spelling of the contract or in that of live answers. */
const shown = ({ from, owner, amounts, used }: HistoryRecord, grouping: keyof typeof groupings) => ({
  time: timestamp(from),
  amount: usd(sumOf(amounts)),
  timeBilledMs: used.ranMs,
  ...{ diskSpaceBilledGb: used.gbOf(), diskSpaceBilledGB: used.gbOf() },
  ...(owner !== undefined && { [grouping]: owner }),
});

function sumOf(amounts: Amounts, charges: readonly Charge[] = [...amounts.keys()]): bigint {
  return charges.reduce((sum, charge) => sum + (amounts.get(charge) ?? 0n), 0n);
}
