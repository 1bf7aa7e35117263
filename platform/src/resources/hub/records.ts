/** The records of what was deployed from the hub, for what must know them without the rules of the hub. */
import { Collection, type RecordParts } from "../../ports/store/collection.ts";
import { hubDeployments, type KeptDeployment } from "./model.ts";

export class HubRecords {
  readonly deployments: Collection<KeptDeployment>;

  constructor({ store }: Pick<RecordParts, "store">) {
    this.deployments = new Collection(store, hubDeployments);
  }

  prepare(): Promise<void> {
    return this.deployments.prepare();
  }

  /** Removes the deployment of a removed endpoint. */
  removeEndpoint(id: string): Promise<void> {
    return this.deployments.removeIfThere(id);
  }
}
