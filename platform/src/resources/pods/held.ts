/** What a Pod would hold at once, against what its account may. */
import type { Reason } from "../../kernel/reason.ts";
import { heldBy } from "../../machines/held.ts";
import type { InstanceItem } from "../../machines/instances.ts";
import type { Need } from "../../machines/need.ts";
import type { QuotaBook } from "../account/quotas.ts";

/** Why the account cannot have so many that need this, beside what it has; undefined when it can. Of the first choice: another one may turn out to hold less. */
export async function refusalOf(
  account: string,
  { need, count }: { need: Need; count: number },
  instances: readonly InstanceItem[],
  quotas: QuotaBook,
): Promise<Reason | undefined> {
  const held = heldBy(instances.filter((item) => item.account === account));
  const more = {
    gpus: need.kind === "gpu" ? need.count : 0,
    vcpu: need.kind === "gpu" ? 0 : (need.flavors[0]?.vcpu ?? 0),
  };
  for (const name of ["gpus", "vcpu"] as const) {
    const refusal = await quotas.refusal(account, name, { has: held[name], amount: more[name] * count });
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}
