/** The records of public endpoints, for what must know them without their rules. */
import type { Clock } from "../../kernel/clock.ts";
import { Collection, type RecordParts } from "../../ports/store/collection.ts";
import { FormerNames } from "./former-names.ts";
import { type KeptPublicEndpoint, publicEndpoints } from "./model.ts";

export class PublicEndpointRecords {
  readonly #shared: Collection<KeptPublicEndpoint>;
  readonly #former: FormerNames;
  readonly #clock: Clock;

  constructor({ store, clock }: Pick<RecordParts, "store" | "clock">) {
    this.#shared = new Collection(store, publicEndpoints);
    this.#former = new FormerNames({ store });
    this.#clock = clock;
  }

  async prepare(): Promise<void> {
    await this.#shared.prepare();
    await this.#former.prepare();
  }

  /** Removes what a removed endpoint was shared as. */
  async removeEndpoint(endpointId: string): Promise<void> {
    const found = await this.#shared.findEverywhere("endpointId", endpointId);
    if (!found) return;
    await this.#shared.change(found.id, async (item) => {
      // Someone may have shared another endpoint under the name meanwhile.
      if (item.doc.endpointId !== endpointId) return undefined;
      return { remove: true, also: await this.#former.leaving(item, this.#clock.now()) };
    });
  }
}
