/** Starts programs: builds the sandbox around them, hands them their variables and lets go of them. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmod, type FileHandle, open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type InstanceSpec, StartRefused } from "../compute.ts";
import type { Device } from "./gpus.ts";
import { MARK } from "./host-instance.ts";
import { type InstanceFolder, nameless } from "./instance-folder.ts";
import { type Identity, identityOf } from "./processes.ts";
import {
  dropTo,
  environmentText,
  groupOf,
  PATH,
  passwdOf,
  resolvConf,
  sandboxArguments,
  systemView,
  unusableNames,
  userFrom,
  withEnvironment,
} from "./sandbox.ts";
import { isFiltered, seccompFilter } from "./seccomp.ts";
import { type Bubblewrap, findBubblewrap, TOOL_ENVIRONMENT } from "./tools.ts";

const LAUNCH_SCRIPT = join(import.meta.dirname, "launch.sh");
/** Descriptors that `launch.sh` hands on: 3 has the variables, then come the filter of system calls and the arguments of bubblewrap. */
const SECCOMP_FD = 4;
const ARGUMENTS_FD = 5;

const HOSTS = "127.0.0.1 localhost\n::1 localhost\n";

export interface LauncherOptions {
  folder: string;
  unsandboxed: boolean;
  writableApp: boolean;
}

export interface Launch {
  id: string;
  spec: InstanceSpec;
  folder: InstanceFolder;
  app: string | undefined;
  cgroups: readonly string[];
  devices: readonly Device[];
  ownNetwork: boolean;
  /** Wraps a command so that it runs in the instance's network. */
  enter(command: readonly string[]): string[];
}

export interface Launched {
  identity: Identity | undefined;
  /** Resolves when the launcher has ended; never, once another process of the server looks after it. */
  ended: Promise<unknown>;
}

export class Launcher {
  readonly #options: LauncherOptions;
  readonly #bubblewrap: Bubblewrap | { cannot: string };
  readonly #system: readonly string[];
  readonly #filter: string | undefined;

  private constructor(
    options: LauncherOptions,
    bubblewrap: Bubblewrap | { cannot: string },
    system: readonly string[],
    filter: string | undefined,
  ) {
    this.#options = options;
    this.#bubblewrap = bubblewrap;
    this.#system = system;
    this.#filter = filter;
  }

  static async open(options: LauncherOptions): Promise<Launcher> {
    const filter = isFiltered(process.arch) ? join(options.folder, ".seccomp") : undefined;
    if (filter && isFiltered(process.arch)) await writeFile(filter, seccompFilter(process.arch));
    return new Launcher(options, await findBubblewrap(), await systemView(), filter);
  }

  get sandboxed(): boolean {
    return !("cannot" in this.#bubblewrap);
  }

  /** Programs run as a user of their own, which only root can make them. */
  get changesUser(): boolean {
    return this.sandboxed && process.getuid!() === 0;
  }

  get warning(): string | undefined {
    if (!("cannot" in this.#bubblewrap)) return undefined;
    const reason = this.#bubblewrap.cannot;
    return this.#options.unsandboxed
      ? `programs are not kept apart from this machine: they can read what this server can. To keep them apart, ${reason}`
      : `programs cannot be kept apart from this machine, and are refused: ${reason}`;
  }

  /** Refuses what could not run. */
  check({ entrypoint, cmd, env }: InstanceSpec): void {
    if ("cannot" in this.#bubblewrap && !this.#options.unsandboxed)
      throw new StartRefused(`programs cannot be kept apart from this machine: ${this.#bubblewrap.cannot}`);
    if (entrypoint.length + cmd.length === 0)
      throw new StartRefused(
        "there is no command to run: an image of the form 'host' needs an entrypoint or a command",
      );
    const [name] = unusableNames(env);
    if (name !== undefined)
      throw new StartRefused(
        `the variable '${name}' cannot be given to a program: use letters, digits and underscores`,
      );
  }

  async launch(launch: Launch): Promise<Launched> {
    await using opened = new AsyncDisposableStack();
    const use = (handle: FileHandle) => opened.adopt(handle, (one) => one.close());
    const user = this.changesUser ? userOf(launch.folder.path) : undefined;
    const environment = environmentText(this.#environmentFor(launch));
    const output = use(await open(launch.folder.output, "ax", 0o600));
    const variables = use(await nameless(environment, user, launch.id));
    const program = withEnvironment([...launch.spec.entrypoint, ...launch.spec.cmd]);
    const { command, descriptors } = this.sandboxed
      ? await this.#sandbox(launch, user, program, use)
      : { command: program, descriptors: [] };
    const args = [LAUNCH_SCRIPT, launch.folder.path, launch.cgroups.join(":"), ...launch.enter(command)];
    const child = spawnOrRefuse(args, {
      detached: true,
      cwd: this.sandboxed ? "/" : (launch.app ?? "/"),
      env: TOOL_ENVIRONMENT,
      stdio: ["ignore", output.fd, output.fd, variables.fd, ...descriptors],
    });
    const ended = once(child, "exit");
    await once(child, "spawn");
    child.unref();
    return { identity: await identityOf(child.pid!), ended };
  }

  async #sandbox(
    { id, spec, folder, app, devices, ownNetwork }: Launch,
    user: number | undefined,
    program: readonly string[],
    use: (handle: FileHandle) => FileHandle,
  ): Promise<{ command: string[]; descriptors: number[] }> {
    const bubblewrap = this.#bubblewrap as Bubblewrap;
    const etc = await makeEtc(folder, user ?? process.getuid!(), ownNetwork);
    const filter = this.#filter === undefined ? undefined : use(await open(this.#filter, "r"));
    const view = sandboxArguments({
      system: this.#system,
      app,
      appWritable: this.#options.writableApp,
      node: process.execPath,
      etc,
      hostname: id,
      scratchBytes: Math.ceil(spec.limits.diskGb * 2 ** 30),
      devices: [...new Set(devices.flatMap(({ files }) => files))],
      seccomp: filter && SECCOMP_FD,
      limitsScratch: bubblewrap.limitsScratch,
      asRoot: user !== undefined,
    });
    const args = use(await nameless(view.map((word) => `${word}\0`).join(""), undefined, `${id}-view`));
    const drop = user === undefined ? [] : dropTo(user);
    return {
      command: [bubblewrap.file, "--args", String(ARGUMENTS_FD), "--", ...drop, ...program],
      descriptors: [filter?.fd ?? args.fd, args.fd],
    };
  }

  #environmentFor({ id, spec, devices }: Launch): Record<string, string> {
    const real = devices.filter(({ virtual }) => !virtual).map((device) => device.id);
    return {
      ...(this.sandboxed ? { PATH, HOME: "/tmp" } : { PATH: TOOL_ENVIRONMENT.PATH, [MARK]: id }),
      ...(real.length > 0 && { CUDA_VISIBLE_DEVICES: real.join(",") }),
      ...spec.env,
    };
  }
}

function spawnOrRefuse(args: readonly string[], options: SpawnOptions): ChildProcess {
  try {
    return spawn("/bin/sh", args, options);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "E2BIG") throw error;
    throw new StartRefused("the command is longer than this machine takes", { cause: error });
  }
}

const userOf = (path: string) => userFrom(createHash("sha256").update(path).digest().readUInt32LE());

/** Files of `/etc` that are this instance's own, made on the machine to be shown inside. */
async function makeEtc(folder: InstanceFolder, user: number, ownNetwork: boolean): Promise<Record<string, string>> {
  const texts = {
    passwd: passwdOf(user),
    group: groupOf(user),
    hosts: HOSTS,
    "resolv.conf": await resolvConf(ownNetwork),
  };
  const made = Object.entries(texts).map(async ([name, text]) => {
    const file = folder.file(`etc-${name}`);
    await writeFile(file, text);
    // Whatever this process forbids for its files, the program has to read these.
    await chmod(file, 0o644);
    return [name, file] as const;
  });
  return Object.fromEntries(await Promise.all(made));
}
