/** What the host driver is told, and by what the parts of one data folder are named on the machine. */

import { createHash } from "node:crypto";
import type { Failed } from "../../kernel/failed.ts";
import type { Log } from "../../kernel/log.ts";
import type { Random } from "../../kernel/random.ts";
import type { GpuMode } from "./gpus.ts";
import type { LauncherOptions } from "./launcher.ts";
import type { NetworkOptions } from "./open-network.ts";
import type { OutputLimits } from "./output-file.ts";

export interface HostOptions extends Omit<LauncherOptions, "key" | "isolation" | "shown">, NetworkOptions {
  /** Run programs also where they cannot be kept apart from the machine. Otherwise they are refused. */
  unsandboxed: boolean;
  /** Storage for volumes that other machines have too. */
  sharedVolumes?: string | undefined;
  random: Random;
  log: Log;
  /** Hears of duties; by default they are in the log. */
  failed?: Failed;
  gpus: GpuMode;
  /** Names of the catalog's GPU types. */
  gpuTypes: readonly string[];
  /** The server is reached by this machine alone, so that made-up GPUs mislead nobody. */
  onLoopback: boolean;
  /** After how long without a server workers end by themselves. */
  watchdogS: number;
  /** How much of the disk what programs write may take. */
  output: OutputLimits;
  /** Folders that images must lie in; any where nothing is said. */
  roots?: readonly string[];
  /** Folders that every program sees, read-only, beyond those of the system. */
  readable?: readonly string[] | undefined;
  /** Nobody else runs instances of this installation, as is so where nothing is said. */
  isOnlyMachine?: boolean;
  /** Whether an account is that of the installation's owner, as every account is where nothing is said. */
  isOwners?: (account: string) => Promise<boolean>;
}

/** By which the machine's parts of one data folder are named: its control groups, its bridge, its rules. */
export function keyOf(folder: string): { key: string; seed: number } {
  const digest = createHash("sha256").update(folder).digest();
  return { key: digest.toString("hex", 0, 3), seed: digest.readUInt32LE(3) };
}
