/** Starts programs: builds the sandbox around them, passes their variables and leaves them to run on their own. */
import { createHash } from "node:crypto";
import { rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type InstanceSpec, StartRefused } from "../../ports/compute/compute.ts";
import { HOST_RESERVED } from "../../ports/compute/mount-paths.ts";
import { removeNamed } from "../machine/descriptors.ts";
import { start } from "../machine/forker.ts";
import type { Isolation } from "../machine/isolation.ts";
import { type Identity, identityOf, withCommand } from "../machine/processes.ts";
import type { Given, Program } from "../machine/start-program.ts";
import { TOOL_ENVIRONMENT } from "../machine/tools.ts";
import type { VolumeFolders } from "../machine/volume-folders.ts";
import { type Bubblewrap, findBubblewrap } from "./bubblewrap.ts";
import type { Device } from "./gpus.ts";
import type { HostFolder } from "./host-folder.ts";
import { LAUNCH, MARK } from "./host-instance.ts";
import type { InstanceFolder } from "./instance-folder.ts";
import { plainLibrary } from "./library.ts";
import { nestedIn, refuseNested } from "./nested.ts";
import { refusedOver, type ShownFolder } from "./readable-folders.ts";
import {
  dropTo,
  environmentText,
  groupOf,
  PATH,
  passwdOf,
  resolvConf,
  SYSTEM,
  sandboxArguments,
  systemView,
  userFrom,
  type View,
  withEnvironment,
} from "./sandbox.ts";
import { isFiltered, seccompFilter } from "./seccomp.ts";
import { SystemFiles } from "./system-files.ts";
import { unseenProgram } from "./unseen-program.ts";

/** Descriptors that `launch.sh` passes on. `network.sh` uses 5 itself, and `launch.sh` uses 9. Shells know none above. */
const VARIABLES_FD = 3;
const SECCOMP_FD = 4;
const ARGUMENTS_FD = 6;
const ETC_FDS = { passwd: 7, group: 8 } as const;

/** The library's place is no secret, since a program sees where its mounts come from. All installations of one version share it. */
const COMMON_LIBRARY = "/run/millrace-library";

/** Without a sandbox, programs find the server's own Node in its folder. */
const PLAIN_PATH = `${dirname(process.execPath)}:${TOOL_ENVIRONMENT.PATH}`;
const HOSTS = "127.0.0.1 localhost\n::1 localhost\n";

export interface LauncherOptions {
  /** The folder that holds the instances, inside the data folder. */
  folder: string;
  /** The folder that holds the volumes. */
  volumes: string;
  /** Distinguishes the names of one data folder from those of another. */
  key: string;
  isolation: Isolation;
  /** Whether programs may write to the folder of their image, as far as its permissions allow. */
  writableApp: boolean;
  /** The folders that the operator shows to every program. */
  shown: readonly ShownFolder[];
  /** The folder of the worker library, for programs that do not bring it. */
  library?: string;
  /** The sandbox tool; by default it is looked up on the machine. */
  bubblewrap?: Bubblewrap | { cannot: string };
}

export interface Launch {
  id: string;
  spec: InstanceSpec;
  folder: InstanceFolder;
  app: HostFolder | undefined;
  cgroups: readonly string[];
  /** The size of each output file in bytes. */
  segment: number;
  devices: readonly Device[];
  volumes: VolumeFolders;
  /** The folder of the instance's own disk, where that is not in memory. */
  scratch: string | undefined;
  /** The file of names that the instance's group shares. */
  names?: string | undefined;
  ownNetwork: boolean;
  /** Wraps a command so that it runs in the instance's network. */
  enter(command: readonly string[]): string[];
}

export class Launcher {
  readonly #options: LauncherOptions;
  readonly #bubblewrap: Bubblewrap | { cannot: string };
  readonly #system: readonly string[];
  readonly #systemFiles: SystemFiles;
  readonly #filter: string | undefined;
  /** The prefix of files in memory, which all data folders share. */
  readonly #prefix: string;
  #library: Promise<string> | undefined;

  private constructor(
    options: LauncherOptions,
    bubblewrap: Bubblewrap | { cannot: string },
    system: readonly string[],
    filter: string | undefined,
  ) {
    this.#options = options;
    this.#bubblewrap = bubblewrap;
    this.#system = system;
    this.#systemFiles = new SystemFiles(this.#shared, SYSTEM);
    this.#filter = filter;
    this.#prefix = `millrace-${options.key}-`;
    removeNamed(this.#prefix);
  }

  static async open(options: LauncherOptions): Promise<Launcher> {
    const filter = isFiltered(process.arch) ? join(options.folder, ".seccomp") : undefined;
    if (filter && isFiltered(process.arch)) await replaceFile(filter, seccompFilter(process.arch));
    const bubblewrap = options.bubblewrap ?? (await findBubblewrap());
    const launcher = new Launcher(options, bubblewrap, await systemView(), filter);
    options.isolation.note("sandbox", "cannot" in bubblewrap ? bubblewrap.cannot : undefined);
    if (launcher.sandboxed && !filter)
      options.isolation.note("calls", `there is no filter of system calls for this processor, ${process.arch}`);
    return launcher;
  }

  get sandboxed(): boolean {
    return !("cannot" in this.#bubblewrap);
  }

  /** Whether programs run as a user of their own. Only root can arrange that. */
  get changesUser(): boolean {
    return this.sandboxed && process.getuid!() === 0;
  }

  /** The tools for entering a sandbox; without bubblewrap where programs run unsandboxed. */
  get tools(): { prefix: string; bubblewrap: string | undefined; filter: string | undefined } {
    const bubblewrap = "cannot" in this.#bubblewrap ? undefined : this.#bubblewrap.file;
    return { prefix: this.#prefix, bubblewrap, filter: this.#filter };
  }

  /** Refuses a specification that could not run. */
  async check({ account, entrypoint, cmd, mounts = [] }: InstanceSpec): Promise<void> {
    await this.#options.isolation.check(account);
    if (entrypoint.length + cmd.length === 0)
      throw new StartRefused(
        "there is no command to run: an image of the form 'host' needs an entrypoint or a command",
      );
    if (mounts.length > 0 && "cannot" in this.#bubblewrap)
      throw new StartRefused(`a program outside a sandbox can be given no volume: ${this.#bubblewrap.cannot}`, {
        reason: "sandbox-missing",
      });
  }

  /** Why the sandbox will not find the program. Only the installation's owner may know this reason. No start fails for it. */
  async unseen(
    spec: InstanceSpec,
    app: HostFolder | undefined,
    mayKnow: Promise<boolean>,
  ): Promise<string | undefined> {
    if (!(await mayKnow.catch(() => false)) || !this.sandboxed) return undefined;
    const { entrypoint, cmd, env, mounts = [] } = spec;
    return unseenProgram({
      command: [...entrypoint, ...cmd],
      path: env.PATH ?? PATH,
      app: app?.path,
      readable: this.#options.shown,
      elsewhere: mounts.map(({ path }) => path),
    }).catch(() => undefined);
  }

  /** Why a volume cannot be mounted at one of these paths: a folder is already shown there. */
  refusedOver(paths: readonly string[]): string | undefined {
    return refusedOver(paths, this.#options.shown);
  }

  /** Resolves with the process that runs the program, unless that is too young or too old to be read. */
  async launch(launch: Launch): Promise<Identity | undefined> {
    const user = this.changesUser ? this.#userOf(launch) : undefined;
    const library = await this.#plainLibrary();
    const system = this.sandboxed ? [...this.#system, ...(await this.#systemFiles.view(sharedEtc(launch)))] : [];
    const over = this.refusedOver((launch.spec.mounts ?? []).map(({ path }) => path));
    if (over) throw new StartRefused(over);
    const asked = await launch.volumes.mounted(launch.spec.mounts, HOST_RESERVED);
    const nested = nestedIn(asked, join(launch.folder.path, "below"));
    refuseNested(nested, asked);
    const { mounts } = nested;
    const given: [number, Given][] = [
      [VARIABLES_FD, { text: environmentText(this.#environmentFor(launch)), owner: user }],
    ];
    if (this.#filter !== undefined) given.push([SECCOMP_FD, { path: this.#filter }]);
    const program = withEnvironment([...launch.spec.entrypoint, ...launch.spec.cmd], {
      waits: launch.ownNetwork,
      app: this.sandboxed ? launch.app?.identity : undefined,
    });
    if (this.sandboxed) {
      given.push([
        ARGUMENTS_FD,
        { text: this.#viewOf(launch, user, { system, library, mounts, scratch: launch.scratch }).join("\0") },
      ]);
      const etc = etcFor(user ?? process.getuid!());
      for (const name of ETC_NAMES) given.push([ETC_FDS[name], { text: etc[name] }]);
    }
    // In its sandbox a program gets a session of its own from bubblewrap.
    const command = this.sandboxed ? this.#sandbox(user, program) : ["setsid", ...program];
    const { folder, cgroups, segment } = launch;
    const pid = await startOrRefuse({
      command: [...LAUNCH, folder.path, cgroups.join(":"), String(segment), ...launch.enter(nested.enter(command))],
      cwd: this.sandboxed ? "/" : (launch.app?.path ?? "/"),
      given,
      name: `${this.#prefix}${launch.id}`,
    });
    // The program runs. If its identity cannot be read now, the launcher records it itself.
    return identityOf(pid).catch(() => undefined);
  }

  /**
   * The arguments that bubblewrap reads from a file. A program sees bubblewrap's command line, and they would name the data folder there.
   */
  #viewOf(
    { id, spec, app, devices, names }: Launch,
    user: number | undefined,
    shown: Pick<View, "system" | "library" | "mounts" | "scratch">,
  ): string[] {
    return sandboxArguments({
      app: app?.path,
      appWritable: this.#options.writableApp,
      node: process.execPath,
      etc: ETC_FDS,
      names,
      hostname: id,
      scratchBytes: Math.ceil(spec.limits.diskGb * 2 ** 30),
      readable: this.#options.shown,
      devices: [...new Set(devices.flatMap(({ files }) => files))],
      seccomp: this.#filter === undefined ? undefined : SECCOMP_FD,
      ...shown,
      limitsScratch: (this.#bubblewrap as Bubblewrap).limitsScratch,
      asRoot: user !== undefined,
    });
  }

  #sandbox(user: number | undefined, program: readonly string[]): string[] {
    const { file } = this.#bubblewrap as Bubblewrap;
    return [file, "--args", String(ARGUMENTS_FD), "--", ...(user === undefined ? [] : dropTo(user)), ...program];
  }

  /** Only root can create a place where no other user could have put anything. */
  get #shared(): string {
    return this.changesUser ? COMMON_LIBRARY : join(this.#options.folder, ".library");
  }

  #plainLibrary(): Promise<string> | undefined {
    const { library } = this.#options;
    if (library === undefined || !this.sandboxed) return undefined;
    this.#library ??= plainLibrary(library, this.#shared).catch((error) => {
      this.#library = undefined;
      throw error;
    });
    return this.#library;
  }

  /**
   * Each instance has a user of its own. With a volume that it can change it is the account's user, so that all programs of the account can
   * change the files they share.
   */
  #userOf({ folder, spec: { account, mounts = [] } }: Launch): number {
    return userOf(mounts.some(({ readOnly }) => !readOnly) ? `${this.#options.volumes} ${account}` : folder.path);
  }

  #environmentFor({ id, spec, devices }: Launch): Record<string, string> {
    const real = devices.filter(({ virtual }) => !virtual).map((device) => device.id);
    return {
      ...(this.sandboxed ? { PATH, HOME: "/tmp" } : { PATH: PLAIN_PATH, [MARK]: id }),
      ...(real.length > 0 && { CUDA_VISIBLE_DEVICES: real.join(",") }),
      ...spec.env,
    };
  }
}

/**
 * Finds the launcher of an instance whose server died, perhaps in the middle of the start. If there is none, it also makes sure that none
 * will begin. A launcher that has not recorded its identity yet is found by its command.
 */
export async function launchedFrom(folder: InstanceFolder): Promise<Identity | undefined> {
  const found = await launcherOf(folder);
  return found || (await folder.forbid()) ? found : launcherOf(folder);
}

async function launcherOf(folder: InstanceFolder): Promise<Identity | undefined> {
  const known = await folder.identity();
  if (known) return known;
  const [pid] = await withCommand([...LAUNCH, folder.path]);
  // The launcher's copy that runs the program has the same command, but exists only after the identity is recorded.
  return (await folder.identity()) ?? (pid === undefined ? undefined : identityOf(pid));
}

async function startOrRefuse(program: Program): Promise<number> {
  try {
    return await start(program);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "E2BIG") throw error;
    throw new StartRefused("the command is longer than this machine takes", {
      cause: error,
      reason: "command-too-long",
    });
  }
}

/** Replaces the file in one step: a program that an earlier server is still starting reads the old version. */
async function replaceFile(file: string, bytes: Buffer): Promise<void> {
  await writeFile(`${file}.new`, bytes);
  await rename(`${file}.new`, file);
}

const userOf = (name: string) => userFrom(createHash("sha256").update(name).digest().readUInt32LE());

const ETC_NAMES = Object.keys(ETC_FDS) as (keyof typeof ETC_FDS)[];

/** The files of `/etc` that each instance has of its own. */
const etcFor = (user: number): Record<keyof typeof ETC_FDS, string> => ({
  passwd: passwdOf(user),
  group: groupOf(user),
});

/** Files of `/etc` that Millrace makes, the same for all programs. */
const sharedEtc = ({ ownNetwork }: Launch) => ({ hosts: HOSTS, "resolv.conf": resolvConf(ownNetwork) });
