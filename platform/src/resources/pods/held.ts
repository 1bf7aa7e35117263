/** Checks what a Pod would hold at once against the quotas of its account. */
import type { Reason } from "../../kernel/reason.ts";
import { type Held, heldBy, heldIn } from "../../machines/held.ts";
import type { InstanceItem } from "../../machines/instances.ts";
import type { Need } from "../../machines/need.ts";
import type { Place } from "../../machines/place.ts";
import type { QuotaBook } from "../account/quotas.ts";

/**
 * Why the account cannot have this many more, or undefined if it can. Before there are places, only the first choice is checked. In its
 * place a Pod may hold more: a GPU comes with vCPU, and another choice may have more of them.
 */
export async function refusalOf(
  account: string,
  { need, count, places }: { need: Need; count: number; places?: readonly Place[] | undefined },
  instances: readonly InstanceItem[],
  quotas: QuotaBook,
): Promise<Reason | undefined> {
  const held = heldBy(instances.filter((item) => item.account === account));
  const more = places ? heldIn(places) : firstChoice(need, count);
  for (const name of ["gpus", "vcpu"] as const) {
    const refusal = await quotas.refusal(account, name, { has: held[name], amount: more[name] });
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function firstChoice(need: Need, count: number): Held {
  if (need.kind === "gpu") return { gpus: need.count * count, vcpu: 0 };
  return { gpus: 0, vcpu: (need.flavors[0]?.vcpu ?? 0) * count };
}
