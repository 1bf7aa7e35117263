/** Stops and terminates Pods at the times that their owners set. */
import { because } from "../../../kernel/reason.ts";
import type { PodEndings } from "../endings.ts";
import type { PodRecords } from "../records.ts";

const GRACE_MS = 10_000;

export class Timers {
  readonly #endings: PodEndings;
  readonly #records: PodRecords;

  constructor(parts: { endings: PodEndings; podRecords: PodRecords }) {
    this.#endings = parts.endings;
    this.#records = parts.podRecords;
  }

  async act(now: number): Promise<void> {
    for await (const { id, doc } of this.#records.pods.all({ key: { name: "timed", value: "yes" } })) {
      const { terminateAfter, stopAfter, locked } = doc;
      if (terminateAfter !== null && terminateAfter <= now) await this.#endings.terminate(id, because("time-over"));
      // A locked Pod is not stopped until it is unlocked.
      else if (stopAfter !== null && stopAfter <= now && !locked) await this.#stop(id);
    }
  }

  /** The timer is used up, so it does not stop the Pod after a later start. */
  async #stop(id: string): Promise<void> {
    await this.#endings.stopFor(id, because("stop-time-reached"), GRACE_MS);
    await this.#records.change(id, ({ doc }) => (doc.stopAfter === null ? undefined : { set: { stopAfter: null } }));
  }
}
