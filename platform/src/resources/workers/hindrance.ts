/** What keeps a worker that runs from taking work: one answer for lists, plans and jobs that wait. */
import type { Hindrance } from "./model.ts";
import type { WorkerItem } from "./records.ts";

/** What hindered a worker before it was frozen, drained or failed is over. */
export const hindranceOf = ({ doc }: WorkerItem): Hindrance | undefined =>
  (doc.state === "READY" && doc.hindrance) || undefined;
