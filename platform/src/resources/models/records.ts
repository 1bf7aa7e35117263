/** The records of models and of their copies on machines. */
import { Collection, type Item, type RecordParts } from "../../ports/store/collection.ts";
import { copies, type KeptCopy, type KeptModel, MOST_MODELS, models } from "./model.ts";

export type ModelItem = Item<KeptModel>;
export type CopyItem = Item<KeptCopy>;

/** Models belong to the installation. */
export const EVERYONE = "*";
const MOST_COPIES = 10_000;

export class ModelRecords {
  readonly models: Collection<KeptModel>;
  readonly copies: Collection<KeptCopy>;

  constructor({ store }: Pick<RecordParts, "store">) {
    this.models = new Collection(store, models);
    this.copies = new Collection(store, copies);
  }

  async prepare(): Promise<void> {
    await this.models.prepare();
    await this.copies.prepare();
  }

  /** The newest first. */
  list(): Promise<ModelItem[]> {
    return this.models.list({ account: EVERYONE, limit: MOST_MODELS });
  }

  /** The newest first. */
  named(name: string): Promise<ModelItem[]> {
    return this.models.list({ account: EVERYONE, key: { name: "name", value: name }, limit: MOST_MODELS });
  }

  copiesOf(model: string): Promise<CopyItem[]> {
    return this.copies.list({ account: EVERYONE, key: { name: "model", value: model }, limit: MOST_COPIES });
  }

  copiesAt(holder: string): Promise<CopyItem[]> {
    return this.copies.list({ account: EVERYONE, key: { name: "holder", value: holder }, limit: MOST_COPIES });
  }
}
