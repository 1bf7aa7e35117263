/** The log of workers. */
import type { InstanceLog } from "../../../machines/instance-log.ts";
import type { KeptWorker } from "../model.ts";

export type WorkerLog = InstanceLog<KeptWorker>;
