/** Ends Pods, for everyone who does: their owner, instances they give way to, and timers. */
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
  /** Called with an instance that has something to do. Undefined means that there may be room for a waiting Pod. */
  podChanged: (instance: PodInstance | undefined) => void;
}

export const STOP_GRACE_MS = 10_000;

export class PodEndings {
  readonly #parts: PodEndingsParts;

  constructor(parts: PodEndingsParts) {
    this.#parts = parts;
  }

  /** The change that ends a Pod for now, or for good. */
  ending(move: "stop" | "rest" | "yield" | "terminate", reason: Reason, graceMs: number): PodChange {
    const set = { reason, instance: null, crashes: null };
    return { move, set, instance: { move: "end", set: { graceMs } } };
  }

  /** The change that removes a Pod for good. */
  gone(pod: PodItem, reason: Reason): PodChange {
    const also = this.#parts.podRemains.leaving(pod);
    return { ...this.ending("terminate", reason, STOP_GRACE_MS), remove: true, also };
  }

  /** Terminates a Pod that nobody asked to end. A Pod that is already gone is not an error. */
  async terminate(id: string, reason: Reason): Promise<void> {
    await this.#changeUnasked(id, "terminate", reason, (pod) => this.gone(pod, reason));
  }

  /** Stops a Pod without its owner's request. Nothing changes if the Pod does not run any more. */
  stopFor(id: string, reason: Reason, graceMs: number): Promise<PodItem | undefined> {
    return this.#changeUnasked(id, "stop", reason, ({ doc }) =>
      podLifecycle.can(doc.status, "yield") ? this.ending("yield", reason, graceMs) : undefined,
    );
  }

  /** The audit log shows the owner that nobody of the account did it. */
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
