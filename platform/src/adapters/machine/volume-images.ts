/** Volumes as files with a file system of their own, mounted at the volume's folder, which limits how much programs can write. */
import { statSync } from "node:fs";
import {
  chmod,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
  truncate,
} from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { ifNotThere } from "../../kernel/not-there.ts";
import { OneAtATimeEach } from "../../kernel/one-at-a-time.ts";
import { runTool } from "./forker.ts";
import { parseMounts } from "./mounts.ts";
import { ReadyDisks } from "./ready-disks.ts";
import { find } from "./tools.ts";

const GB = 2 ** 30;
const MB = 2 ** 20;
/** These lie beside the volumes. No volume's name begins with a dot. */
const IMAGES = ".images";
const DRAFT = ".new";
/** A name with a dot belongs to a disk that lies ready. */
const HIDDEN = ".";
/** Device files and set-user-ID programs do not work there. Deleting a file returns its space to the machine. */
const OPTIONS = "nosuid,nodev,noatime,discard";
const LOOP_OPTIONS = `loop,${OPTIONS}`;
/**
 * Mounts a file that no loop device has yet. `mount -o loop` would look through all devices for one that has it. The device is detached at
 * once, and so disappears with the mount.
 */
const ATTACH = `device=$(losetup --find --show "$1") || exit 1
mount -t ext4 -o ${OPTIONS} "$device" "$2"
mounted=$?
losetup --detach "$device"
exit $mounted`;
/** The size of the blocks that `stat` counts. */
const STAT_BLOCK = 512;
const PROBE_BYTES = 8 * MB;
/** Smaller file systems have no journal. */
const SMALLEST_JOURNALED = 512 * MB;
const SMALLEST_XFS = 320 * MB;
/** The number of this capability in the kernel's masks. */
const CAP_SYS_RESOURCE = 24n;

/** Both drivers of a machine share the folder, so turns are global: no two mount one volume at the same time. */
const turns = new OneAtATimeEach();

interface FileSystem {
  make(file: string, bytes: number): Promise<unknown>;
}

const makeExt4 = (file: string, bytes: number, journalMb: number, more: readonly string[]) => {
  const journal = bytes < SMALLEST_JOURNALED ? ["-O", "^has_journal"] : ["-J", `size=${journalMb}`];
  return runTool("mkfs.ext4", ["-q", "-F", "-m", "0", ...journal, ...more, file]);
};

const FILE_SYSTEMS = {
  ext4: {
    make: (file, bytes) => makeExt4(file, bytes, 64, ["-E", "lazy_itable_init=1,lazy_journal_init=1"]),
  },
  xfs: { make: (file) => runTool("mkfs.xfs", ["-q", "-f", file]) },
  /**
   * For disks that never grow. Room to grow would take 4 MB of each. The file is new and reads as zeros, so its tables are complete as
   * they are and take no space.
   */
  fixed: { make: (file, bytes) => makeExt4(file, bytes, 16, ["-O", "^resize_inode"]) },
} satisfies Record<string, FileSystem>;

export class VolumeImages implements AsyncDisposable {
  readonly #folder: string;
  /** Used where many volumes of few sizes are made, which never grow: new ones lie ready. */
  #ready: ReadyDisks | undefined;
  /** Growing a mounted ext4 takes CAP_SYS_RESOURCE, which some roots lack. Any root can grow a mounted XFS. */
  readonly #prefersXfs: boolean;

  private constructor(folder: string, prefersXfs: boolean) {
    this.#folder = folder;
    this.#prefersXfs = prefersXfs;
  }

  /** The volumes below this folder, or the reason why this machine cannot have any. */
  static async open(folder: string, { ahead }: { ahead?: Clock } = {}): Promise<VolumeImages | { cannot: string }> {
    // One probe per process is enough, since the answer depends only on the machine.
    probed ??= probe(folder);
    const { cannot, growsExt4 } = await probed;
    if (cannot !== undefined) return { cannot };
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // The path as the kernel reports it for mounts.
    const images = new VolumeImages(await realpath(folder), !growsExt4);
    if (ahead) await images.#prepareAhead(ahead);
    return images;
  }

  async #prepareAhead(clock: Clock): Promise<void> {
    this.#ready = await ReadyDisks.open({
      places: this.#folder,
      files: join(this.#folder, IMAGES),
      clock,
      make: async (file, bytes) => {
        await stretch(file, bytes);
        await FILE_SYSTEMS.fixed.make(file, bytes);
      },
      attach: (file, place) => runTool("/bin/sh", ["-c", ATTACH, "attach", file, place]).then(() => {}),
      detach: (place) => this.#unmountAll(place),
    });
  }

  /** Creates the volume completely or not at all. An existing volume stays unchanged. */
  make(id: string, sizeGb: number): Promise<void> {
    return this.#turn(id, async () => {
      if (await this.#bytes(id)) return;
      const bytes = Math.ceil(sizeGb * GB);
      const ready = await this.#ready?.take(bytes).catch(() => undefined);
      if (ready !== undefined) return this.#give(ready, id);
      await mkdir(join(this.#folder, IMAGES), { recursive: true, mode: 0o700 });
      const draft = this.#file(id) + DRAFT;
      await rm(draft, { force: true });
      await this.#format(draft, bytes);
      await rename(draft, this.#file(id));
      await rm(join(await this.#mount(id), "lost+found"), { recursive: true, force: true });
    });
  }

  /** The disk stays mounted where it is, and the volume's folder becomes a link to that place. After a crash in between, neither exists. */
  async #give(ready: string, id: string): Promise<void> {
    const link = join(this.#folder, id);
    await rm(link, { recursive: true, force: true });
    await symlink(ready, link);
    await rename(this.#file(ready), this.#file(id));
  }

  async #format(file: string, bytes: number): Promise<void> {
    await stretch(file, bytes);
    const kind = this.#prefersXfs && bytes >= SMALLEST_XFS ? "xfs" : "ext4";
    await FILE_SYSTEMS[kind].make(file, bytes);
  }

  /** Mounts the volume unless it is mounted, for example after a restart of the machine. Resolves with the folder of its contents. */
  mount(id: string): Promise<string> {
    return this.#turn(id, () => this.#mount(id));
  }

  /** Programs that have the volume mounted get the space at once. */
  grow(id: string, sizeGb: number): Promise<void> {
    return this.#turn(id, async () => {
      const folder = await this.#mount(id);
      const bytes = Math.ceil(sizeGb * GB);
      if (bytes > ((await this.#bytes(id)) ?? 0)) await stretch(this.#file(id), bytes);
      const device = (await runTool("losetup", ["-n", "-O", "NAME", "-j", this.#file(id)])).trim();
      await runTool("losetup", ["-c", device]);
      if ((await typeAt(folder)) === "xfs") await runTool("xfs_growfs", [folder]);
      else await runTool("resize2fs", [device]);
    });
  }

  /** Removes the volume with its contents. The loop device disappears with the mount. */
  remove(id: string): Promise<void> {
    return this.#turn(id, async () => {
      const place = await this.#placeOf(id);
      if (this.#isMounted(place)) await this.#cutOff(id, place);
      await this.#unmountAll(place);
      for (const file of [this.#file(id), this.#file(id) + DRAFT]) await rm(file, { force: true });
      if (place === join(this.#folder, id)) return;
      await rmdir(place).catch(ifNotThere(undefined));
      await rm(join(this.#folder, id), { force: true });
    });
  }

  async #unmountAll(place: string): Promise<void> {
    while (this.#isMounted(place)) await unmount(place);
  }

  /** Discards data that the kernel has not written yet. On a full disk it would take the last space for a volume that is being removed. */
  async #cutOff(id: string, place: string): Promise<void> {
    await runTool("xfs_io", ["-x", "-c", "shutdown", place]).catch(async () => {
      // Without that tool, shrinking the device to nothing has the same effect.
      const device = (await runTool("losetup", ["-n", "-O", "NAME", "-j", this.#file(id)])).trim();
      await truncate(this.#file(id), 0);
      if (device !== "") await runTool("losetup", ["-c", device]);
      await truncate(this.#file(id), 0);
    });
  }

  /** The volume's size, and how much of the machine's disk it uses; undefined where there is no such volume. */
  sizeOf(id: string): { bytes: number; takenBytes: number } | undefined {
    const found = statSync(this.#file(id), { throwIfNoEntry: false });
    return found && { bytes: found.size, takenBytes: found.blocks * STAT_BLOCK };
  }

  /** How much all volumes together may still take of the machine's disk. */
  async promisedBytes(): Promise<number> {
    // Hundreds of calls take a millisecond like this, and ten times as long in the thread pool, for each start.
    const sizes = (await this.list()).map((id) => statSync(this.#file(id), { throwIfNoEntry: false }));
    return sizes.reduce((sum, size) => sum + (size ? Math.max(0, size.size - size.blocks * STAT_BLOCK) : 0), 0);
  }

  /**
   * Unmounts a volume that no program uses, so that its folder can be moved and deleted like any other. It stays mounted while a process
   * has its working folder there.
   */
  rest(id: string): Promise<void> {
    return this.#turn(id, async () => {
      const place = await this.#placeOf(id);
      if (this.#isMounted(place)) await runTool("umount", [place]).catch(() => undefined);
    });
  }

  /** The ids of all volumes, including incomplete ones. */
  async list(): Promise<string[]> {
    const names = await readdir(join(this.#folder, IMAGES)).catch(ifNotThere([]));
    return [...new Set(names.filter((name) => !name.startsWith(HIDDEN)).map((name) => name.replace(DRAFT, "")))];
  }

  async #mount(id: string): Promise<string> {
    const place = await this.#placeOf(id);
    if (this.#isMounted(place)) return place;
    await mkdir(place, { recursive: true, mode: 0o700 });
    // The kernel identifies XFS file systems by their ids, and copies share one.
    const options = (await isXfs(this.#file(id))) ? `${LOOP_OPTIONS},nouuid` : LOOP_OPTIONS;
    await runTool("mount", ["-o", options, this.#file(id), place]);
    await chmod(place, 0o777);
    return place;
  }

  /** The folder where the volume is mounted. That of a disk that lay ready has another name than the volume. */
  async #placeOf(id: string): Promise<string> {
    const folder = join(this.#folder, id);
    return join(this.#folder, await readlink(folder).catch(ifNotThere(id)));
  }

  /** What is mounted there is on another device than the folder around it. One that was cut off cannot be read any more. */
  #isMounted(place: string): boolean {
    try {
      const here = statSync(place, { throwIfNoEntry: false });
      return here !== undefined && here.dev !== statSync(this.#folder).dev;
    } catch {
      return true;
    }
  }

  async #bytes(id: string): Promise<number | undefined> {
    return (await stat(this.#file(id)).catch(ifNotThere(undefined)))?.size;
  }

  #file(id: string): string {
    return join(this.#folder, IMAGES, id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ready?.[Symbol.asyncDispose]();
  }

  #turn<T>(id: string, task: () => Promise<T>): Promise<T> {
    return turns.run(this.#file(id), task);
  }
}

interface Probed {
  cannot?: string;
  growsExt4?: boolean;
}

let probed: Promise<Probed> | undefined;

async function probe(parent: string): Promise<Probed> {
  const missing = await missingTool();
  if (missing !== undefined) return { cannot: missing };
  const growsExt4 = await mayUseReserved();
  if (!growsExt4 && !(await find("xfs_growfs")))
    return { cannot: "volumes could not grow: the server has not CAP_SYS_RESOURCE, and xfsprogs is not installed" };
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(parent, ".probe-"));
  try {
    const file = join(folder, "image");
    await stretch(file, PROBE_BYTES);
    await FILE_SYSTEMS.ext4.make(file, PROBE_BYTES);
    const place = join(folder, "mounted");
    await mkdir(place);
    await runTool("mount", ["-o", LOOP_OPTIONS, file, place]);
    await unmount(place);
    return { growsExt4 };
  } catch (error) {
    return { cannot: (error as Error).message };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function missingTool(): Promise<string | undefined> {
  if (process.getuid!() !== 0) return "to mount a file needs root";
  for (const tool of ["mkfs.ext4", "resize2fs", "losetup", "mount", "umount"])
    if (!(await find(tool))) return `${tool} is not installed (apt-get install e2fsprogs util-linux)`;
  return undefined;
}

async function mayUseReserved(): Promise<boolean> {
  const [, mask] = /^CapEff:\s*([0-9a-f]+)$/m.exec(await readFile("/proc/self/status", "utf8")) ?? [];
  return mask !== undefined && ((BigInt(`0x${mask}`) >> CAP_SYS_RESOURCE) & 1n) === 1n;
}

/** Extends a file to this length without allocating space. */
async function stretch(file: string, bytes: number): Promise<void> {
  await using handle = await open(file, "a", 0o600);
  await handle.truncate(bytes);
  await handle.sync();
}

async function isXfs(file: string): Promise<boolean> {
  await using handle = await open(file, "r");
  const { buffer } = await handle.read(Buffer.alloc(4), 0, 4, 0);
  return buffer.toString("latin1") === "XFSB";
}

/** A process, such as an operator's shell, may have its working folder there. The mount then ends when that process leaves. */
async function unmount(folder: string): Promise<void> {
  await runTool("umount", [folder]).catch(() => runTool("umount", ["--lazy", folder]));
}

/** The type of the file system that is mounted there; undefined for none. */
async function typeAt(folder: string): Promise<string | undefined> {
  const mounts = parseMounts(await readFile("/proc/self/mountinfo", "utf8"));
  return mounts.findLast(({ path }) => path === folder)?.type;
}
