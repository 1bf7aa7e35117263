/** Those who look after the workers of one machine. */
import { Images } from "../machines/images.ts";
import type { OwnMachine } from "../machines/own-machine.ts";
import type { Logs } from "../ports/logs/logs.ts";
import type { Store } from "../ports/store/store.ts";
import { Keeper, type KeeperParts } from "./keeper.ts";
import { Rotation, type RotationParts } from "./rotation.ts";
import { type WorkerLog, workerLogWith } from "./worker-log.ts";

export interface Crew {
  keeper: Keeper;
  workerLog: WorkerLog;
  rotation: Rotation;
}

export type CrewParts = Omit<KeeperParts, keyof OwnMachine | "machine" | "images" | "workerLog" | "rotation"> &
  Omit<RotationParts, "dial"> & { logs: Logs; store: Store };

export function crewFor({ id, ...machine }: OwnMachine, parts: CrewParts): Crew {
  const { compute } = machine;
  const workerLog = workerLogWith({ ...parts, compute });
  const rotation = new Rotation({ ...parts, dial: (worker, port) => compute.dial(worker, port) });
  const images = new Images({ ...parts, compute });
  const keeper = new Keeper({ ...parts, ...machine, machine: id, images, workerLog, rotation });
  return { workerLog, rotation, keeper };
}
