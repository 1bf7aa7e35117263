/** How Pods end, for whoever ends them: their owner, those they give way to, or their time. */
import type { Clock } from "../../kernel/clock.ts";
import type { Reason } from "../../kernel/reason.ts";
import type { AuditLog } from "../audit/service.ts";
import type { PodInstance } from "./instance.ts";
import { type PodAction, podLifecycle } from "./lifecycle.ts";
import type { PodChange, PodDecision, PodItem, PodRecords } from "./records.ts";
import type { PodRemains } from "./remains.ts";

export interface PodEndingsParts {
  clock: Clock;
  podRecords: PodRecords;
  podRemains: PodRemains;
  audit: Pick<AuditLog, "record">;
  /** Told of every instance that has something to do, or that there may be room for a Pod that waits. */
  podChanged: (instance: PodInstance | undefined) => void;
}

export const STOP_GRACE_MS = 10_000;

export class PodEndings {
  readonly #parts: PodEndingsParts;

  constructor(parts: PodEndingsParts) {
    this.#parts = parts;
  }

  /** What becomes of a Pod that ends for now, or for good. */
  ending(move: "stop" | "rest" | "yield" | "terminate", reason: Reason, graceMs: number): PodChange {
    const set = { reason, instance: null, crashes: null };
    return { move, set, instance: { move: "end", set: { graceMs } } };
  }

  /** What becomes of one that goes for good. */
  gone(pod: PodItem, reason: Reason): PodChange {
    const also = this.#parts.podRemains.leaving(pod);
    return { ...this.ending("terminate", reason, STOP_GRACE_MS), remove: true, also };
  }

  /** Without anybody's asking for it; a Pod that is gone already is no error. */
  async terminate(id: string, reason: Reason): Promise<void> {
    await this.#changeUnasked(id, "terminate", reason, (pod) => this.gone(pod, reason));
  }

  /** Without its owner's asking for it: undefined when it does not run any more. */
  stopFor(id: string, reason: Reason, graceMs: number): Promise<PodItem | undefined> {
    return this.#changeUnasked(id, "stop", reason, ({ doc }) =>
      podLifecycle.can(doc.status, "yield") ? this.ending("yield", reason, graceMs) : undefined,
    );
  }

  /** Its owner finds in the audit log that nobody of the account did it. */
  async #changeUnasked(
    id: string,
    action: PodAction,
    reason: Reason,
    decide: PodDecision,
  ): Promise<PodItem | undefined> {
    const { podRecords, audit } = this.#parts;
    const account = (await podRecords.pods.get(id))?.account;
    if (account === undefined) return undefined;
    const actor = { type: "system" } as const;
    const deed = {
      account,
      actor,
      operation: "podAction",
      action,
      resource: { type: "pods", id },
      reason: reason.text,
    };
    return audit.record(deed, () => this.#change(id, decide), { onlyChanges: true });
  }

  async #change(id: string, decide: PodDecision): Promise<PodItem | undefined> {
    let had: PodInstance | undefined;
    const changed = await this.#parts.podRecords.change(id, (pod, instance) => {
      had = instance;
      return decide(pod, instance);
    });
    this.#parts.podChanged(had);
    return changed;
  }
}
