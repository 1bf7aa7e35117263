/** The options of the host driver, and the key that names everything of one data folder on the machine. */

import { createHash } from "node:crypto";
import type { Failed } from "../../kernel/failed.ts";
import type { Log } from "../../kernel/log.ts";
import type { Random } from "../../kernel/random.ts";
import type { SpanLinks } from "../machine/span-links.ts";
import type { GpuMode } from "./gpus.ts";
import type { LauncherOptions } from "./launcher.ts";
import type { NetworkOptions } from "./open-network.ts";
import type { OutputLimits } from "./output-file.ts";

export interface HostOptions extends Omit<LauncherOptions, "key" | "isolation" | "shown">, NetworkOptions {
  /** Whether programs also run where they cannot be kept apart from the machine. Otherwise they are refused. */
  unsandboxed: boolean;
  /** Storage for volumes that all machines share. */
  sharedVolumes?: string | undefined;
  random: Random;
  log: Log;
  /** Receives the failures of background duties; by default they go to the log. */
  failed?: Failed;
  gpus: GpuMode;
  /** Names of the catalog's GPU types. */
  gpuTypes: readonly string[];
  /** Whether only this machine reaches the server, so that virtual GPUs mislead nobody. */
  isOnlyHere: boolean;
  /** Workers end by themselves after this many seconds without a server. */
  watchdogS: number;
  /** How much of the disk programs' output may use. */
  output: OutputLimits;
  /** Folders that images must lie in; any folder by default. */
  roots?: readonly string[];
  /** Folders that every program sees read-only, in addition to those of the system. */
  readable?: readonly string[] | undefined;
  /** Whether no other machine runs instances of this installation; true by default. */
  isOnlyMachine?: boolean;
  /** Joins groups to those of other machines. Absent if there are none. */
  spans?: SpanLinks | undefined;
  /** Whether an account belongs to the installation's owner; by default every account does. */
  isOwners?: (account: string) => Promise<boolean>;
}

/** The key that names a data folder's control groups, bridge and rules on the machine. */
export function keyOf(folder: string): { key: string; seed: number } {
  const digest = createHash("sha256").update(folder).digest();
  return { key: digest.toString("hex", 0, 3), seed: digest.readUInt32LE(3) };
}
