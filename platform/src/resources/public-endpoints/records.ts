/** The records of public endpoints, for what must know them without their rules. */
import { Collection, type RecordParts } from "../../ports/store/collection.ts";
import { type KeptPublicEndpoint, publicEndpoints } from "./model.ts";

export class PublicEndpointRecords {
  readonly #shared: Collection<KeptPublicEndpoint>;

  constructor({ store }: Pick<RecordParts, "store">) {
    this.#shared = new Collection(store, publicEndpoints);
  }

  prepare(): Promise<void> {
    return this.#shared.prepare();
  }

  /** Removes what a removed endpoint was shared as. */
  async removeEndpoint(endpointId: string): Promise<void> {
    const item = await this.#shared.findEverywhere("endpointId", endpointId);
    if (item) await this.#shared.removeIfThere(item.id);
  }
}
