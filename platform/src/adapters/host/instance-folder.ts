/** The record of one instance on disk: enough for the next process of the server, and no value of a variable. */
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ifNotThere } from "../../kernel/not-there.ts";
import { replacePrivately } from "../../kernel/private-file.ts";
import type { Exit, InstanceKind, InstanceSpec } from "../../ports/compute/compute.ts";
import { type ExitCause, exitCauses } from "../../ports/compute/exit.ts";
import type { Published } from "../../ports/compute/publish.ts";
import { hasRoom, isFull } from "../../ports/disk.ts";
import { type Identity, parseStat } from "../machine/processes.ts";
import type { GroupPlace } from "./group-bridges.ts";

/** A specification as it is stored. Variables are secrets, so only their names are kept. */
export interface KeptInstance {
  kind: InstanceKind;
  account: string;
  owner: string;
  image: string;
  memoryMb: number;
  gpus: readonly string[];
  ports: readonly number[];
  startedAt: number;
  /** The bytes of each file of the instance's output. Absent for instances of earlier versions, which had one file. */
  segment?: number;
  /** The volumes that the instance mounts. */
  volumes?: readonly string[];
  group?: GroupPlace;
  /** The instance's place in the network; absent on a shared network. */
  address?: number;
  /** The machine's ports that are forwarded to the instance. */
  published?: readonly Published[];
  /** Why the sandbox will not find the instance's program. It is added after the start, since no start waits for it. */
  unseen?: string;
}

interface Given {
  segment: number;
  address?: number | undefined;
  group?: GroupPlace | undefined;
}

export const keptFrom = (
  spec: InstanceSpec,
  startedAt: number,
  { segment, address, group, gpus, published = [] }: Pick<KeptInstance, "gpus" | "published"> & Given,
): KeptInstance => ({
  kind: spec.kind,
  account: spec.account,
  owner: spec.owner,
  image: spec.image,
  memoryMb: spec.limits.memoryMb,
  gpus,
  ports: spec.ports,
  startedAt,
  segment,
  ...(group && { group }),
  ...(spec.mounts && { volumes: spec.mounts.map(({ volume }) => volume) }),
  ...(address !== undefined && { address }),
  ...(published.length > 0 && { published }),
});

/** `launch.sh`, `keep.sh` and `watchdog.sh` know these names too. */
const KEPT = "spec.json";
const IDENTITY = "identity";
export const EXIT = "exit";
/** What is known about an end in addition to its status. */
const REASON = "reason";
/** Why the platform ended the instance for good. */
const VERDICT = "verdict";
const CGROUPS = "cgroups";
/** Marks an instance that ran before. Its files are kept, however its next start ends. */
const AGAIN = "again";
/** The instance's own disk, where that is not in memory. */
const SCRATCH = "scratch";
const NEVER_BEGAN = "the server ended while it was started again";
const KILLED = 137;
/** The watchdog ends the instances whose folder has this file. */
const WORKER = "worker";

const SIGNALS = new Map([
  [1, "SIGHUP"],
  [2, "SIGINT"],
  [3, "SIGQUIT"],
  [4, "SIGILL"],
  [6, "SIGABRT"],
  [7, "SIGBUS"],
  [8, "SIGFPE"],
  [9, "SIGKILL"],
  [11, "SIGSEGV"],
  [13, "SIGPIPE"],
  [14, "SIGALRM"],
  [15, "SIGTERM"],
  [31, "SIGSYS"],
]);

/** A shell adds 128 to the number of the signal that ended a program. */
export function exitFrom(status: number, at: number): Exit {
  const signal = SIGNALS.get(status - 128);
  return signal === undefined ? { code: status, at } : { code: null, signal, at };
}

export class InstanceFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Every folder of an instance, by its id. Names that begin with a dot belong to the driver. */
  static async list(parent: string): Promise<string[]> {
    const entries = await readdir(parent, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith(".")).map(({ name }) => name);
  }

  file(name: string): string {
    return join(this.path, name);
  }

  async make(kept: KeptInstance, cgroups: readonly string[]): Promise<KeptInstance> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    await Promise.all([
      this.keep(kept),
      writeFile(this.file(CGROUPS), cgroups.map((folder) => `${folder}\n`).join("")),
      ...(kept.kind === "worker" ? [writeFile(this.file(WORKER), "")] : []),
    ]);
    return kept;
  }

  /** Replaces the record of an instance that is there. */
  async keep(kept: KeptInstance): Promise<void> {
    await replacePrivately(this.file(KEPT), JSON.stringify(kept));
  }

  /** Whether the instance's disk is a folder here. An instance that began with a folder keeps it. */
  async hasScratch(): Promise<boolean> {
    return (await readdir(this.path).catch(ifNotThere<string[]>([]))).includes(SCRATCH);
  }

  /** The disk of a program that stays. Every user inside may write to it; nobody outside can reach it. */
  async makeScratch(): Promise<string> {
    const scratch = this.file(SCRATCH);
    await mkdir(scratch, { recursive: true });
    await chmod(scratch, 0o1777);
    return scratch;
  }

  async removeScratch(): Promise<void> {
    await rm(this.file(SCRATCH), { recursive: true, force: true });
  }

  /** Forgets that the instance ended. Resolves with a function that restores the end. */
  async beginAgain(): Promise<() => Promise<void>> {
    await writeFile(this.file(AGAIN), "");
    const ending = await Promise.all(
      [EXIT, REASON, VERDICT].map(async (name) => [name, await readOrUndefined(this.file(name))]),
    );
    for (const name of [EXIT, REASON, VERDICT, IDENTITY]) await rm(this.file(name), { recursive: true, force: true });
    return async () => {
      for (const [name, text] of ending) if (text !== undefined) await writeFile(this.file(name!), text).catch(ifFull);
    };
  }

  /** Records the end of an instance that ran before and whose next start never happened. Returns false for an instance that never ran. */
  async endUnbegun(): Promise<boolean> {
    if ((await readOrUndefined(this.file(AGAIN))) === undefined) return false;
    await this.keepReason(NEVER_BEGAN);
    await this.keepExit(KILLED);
    return true;
  }

  /** Undefined when there is no file, or only a part of one. */
  async kept(): Promise<KeptInstance | undefined> {
    const text = await readOrUndefined(this.file(KEPT));
    if (!text) return undefined;
    try {
      return JSON.parse(text) as KeptInstance;
    } catch {
      return undefined;
    }
  }

  /** The process that runs the program and waits for its end; undefined before it has begun. */
  async identity(): Promise<Identity | undefined> {
    const text = await readOrUndefined(this.file(IDENTITY));
    return text?.endsWith("\n") ? parseStat(text) : undefined;
  }

  /**
   * Takes the name that a launcher has to write first, so that a launcher that has not begun never begins. Returns false when a launcher
   * was faster.
   */
  async forbid(): Promise<boolean> {
    try {
      await mkdir(this.file(IDENTITY));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
      throw error;
    }
  }

  /** How the program ended; undefined until the whole line is written. */
  async exit(): Promise<Exit | undefined> {
    // This check comes first, because hundreds of running programs are looked at every few seconds and most need no more.
    if (!existsSync(this.file(EXIT))) return undefined;
    const text = await readOrUndefined(this.file(EXIT));
    if (!text?.endsWith("\n")) return undefined;
    const [{ mtimeMs }, said, verdict] = await Promise.all([
      stat(this.file(EXIT)),
      readOrUndefined(this.file(REASON)),
      readOrUndefined(this.file(VERDICT)),
    ]);
    const exit = exitFrom(Number(text), Math.round(mtimeMs));
    if (verdict) return { ...exit, reason: verdict.trim(), cause: "filled-disk", isFinal: true };
    if (said === undefined) return exit;
    const [reason = "", named] = said.split("\n");
    const cause = exitCauses.find((one) => one === named);
    return { ...exit, reason: reason.trim(), ...(cause && { cause }) };
  }

  /**
   * Records an end that `launch.sh` did not live to record. On a full disk this fails silently, and the next server has to find out itself.
   */
  async keepExit(status: number): Promise<void> {
    await writeFile(this.file(EXIT), `${status}\n`).catch(ifFull);
  }

  async keepReason(reason: string, cause: ExitCause | "" = ""): Promise<void> {
    await writeFile(this.file(REASON), `${reason.replaceAll("\n", " ")}\n${cause}\n`).catch(ifFull);
  }

  async keepVerdict(reason: string): Promise<void> {
    await writeFile(this.file(VERDICT), `${reason}\n`).catch(ifFull);
  }

  async hasRoom(): Promise<boolean> {
    return hasRoom(this.path);
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

async function readOrUndefined(file: string): Promise<string | undefined> {
  return readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "EISDIR") return undefined;
    throw error;
  });
}

function ifFull(error: unknown): void {
  if (!isFull(error)) throw error;
}
