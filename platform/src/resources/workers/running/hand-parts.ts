/** What the hand of one machine works with. */
import type { WorkerDesk } from "../../../jobs/worker-desk.ts";
import type { Failed } from "../../../kernel/failed.ts";
import type { Log } from "../../../kernel/log.ts";
import type { Keeper } from "../../../machines/keeper.ts";
import type { Item } from "../../../ports/store/collection.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import type { BooterParts } from "./booter.ts";
import type { RotationParts } from "./rotation.ts";
import type { FleetWarmUps } from "./warm-ups.ts";

export interface WorkerHandParts extends BooterParts, Pick<RotationParts, "balancer"> {
  machine: string;
  keeper: Keeper;
  desk: WorkerDesk;
  log: Log;
  failed: Failed;
  endpoint: (id: string, release?: number) => Promise<Item<KeptEndpoint> | undefined>;
  warmUps: FleetWarmUps;
  /** Whether workers of this endpoint are placed on other machines than this one at the moment. */
  runsElsewhere: (endpoint: KeptEndpoint, machine: string) => Promise<boolean>;
  /** Called when something happened to a worker of this endpoint, which may need another one. */
  changed: (endpoint: string) => void;
}
