/** What a Pod waits for before its program can run, as its record tells. */
import { withoutPlaces } from "../../../kernel/places.ts";
import { isSameReason, type Reason, saying } from "../../../kernel/reason.ts";
import type { Compute } from "../../../ports/compute/compute.ts";
import type { PodInstance } from "../instance.ts";
import type { PodItem, PodRecords } from "../records.ts";

export class Waiting {
  readonly #records: PodRecords;
  readonly #compute: Pick<Compute, "whyAway">;

  constructor(records: PodRecords, compute: Pick<Compute, "whyAway">) {
    this.#records = records;
    this.#compute = compute;
  }

  /** Why who runs the Pod's image cannot be asked at the moment. */
  async awayNow({ doc }: PodInstance): Promise<Reason | undefined> {
    const away = await this.#compute.whyAway?.(doc.image);
    return away === undefined ? undefined : saying("engine-away", withoutPlaces(away.why));
  }

  async for(pod: PodItem, reason: Reason): Promise<void> {
    if (isSameReason(pod.doc.reason, reason)) return;
    await this.#records.change(pod.id, ({ doc }) =>
      doc.instance === pod.doc.instance ? { set: { reason } } : undefined,
    );
  }

  /** The same for a Pod that was read a while ago: its reason, or its instance, may be another by now. */
  async now(item: PodInstance, reason: Reason): Promise<void> {
    const pod = await this.#records.pods.get(item.doc.owner);
    if (pod?.doc.instance === item.id) await this.for(pod, reason);
  }
}
