/** The name of a worker in calls to the worker desk, which hands out jobs. */
import { holderName } from "../../../jobs/holder.ts";
import type { WorkerCall } from "../../../jobs/worker-events.ts";
import type { WorkerItem } from "../records.ts";

export const callOf = ({ id, doc }: WorkerItem): WorkerCall => ({
  endpoint: doc.owner,
  worker: holderName(doc.owner, id),
});
