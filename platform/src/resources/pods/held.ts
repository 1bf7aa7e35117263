/** Checks what a Pod would hold at once against the quotas of its account. */
import type { Reason } from "../../kernel/reason.ts";
import { heldBy } from "../../machines/held.ts";
import type { InstanceItem } from "../../machines/instances.ts";
import type { Need } from "../../machines/need.ts";
import type { QuotaBook } from "../account/quotas.ts";

/** Why the account cannot have this many more, or undefined if it can. Only the first choice is checked; another choice may hold less. */
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
