/** What a Pod would hold at once, against what its account may. */
import { heldBy } from "../../machines/held.ts";
import type { InstanceRecords } from "../../machines/instance-records.ts";
import type { Need } from "../../machines/need.ts";
import type { Amount, QuotaBook } from "../account/quotas.ts";

/** Of the first choice: another one may turn out to hold less. */
export function amountsOf(account: string, need: Need, instances: InstanceRecords): Amount[] {
  const held = async () => heldBy((await instances.all()).filter((item) => item.account === account));
  const gpus = need.kind === "gpu" ? need.count : 0;
  const vcpu = need.kind === "gpu" ? 0 : (need.flavors[0]?.vcpu ?? 0);
  return [
    { name: "gpus", amount: gpus, count: async () => (await held()).gpus },
    { name: "vcpu", amount: vcpu, count: async () => (await held()).vcpu },
  ];
}

/** Why the account cannot have it now; undefined when it can. */
export async function refusalOf(account: string, amounts: readonly Amount[], quotas: QuotaBook) {
  for (const { name, amount, count } of amounts) {
    const refusal = await quotas.refusal(account, name, { has: await count(), amount });
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}
