/** Explains why the sandbox does not show a program that exists on this machine, for readers who may know the machine's files. */
import { access, constants, lstat, open, readlink, stat } from "node:fs/promises";
import { basename, dirname, join, normalize, resolve } from "node:path";
import { APP } from "../../ports/compute/mount-paths.ts";
import { isInside } from "../machine/host-image.ts";
import { ALWAYS_SHOWN, SETTING, type ShownFolder } from "./readable-folders.ts";
import { OURS } from "./sandbox.ts";

export interface Sight {
  command: readonly string[];
  /** The program's `PATH` variable. */
  path: string;
  /** The folder of the image. */
  app: string | undefined;
  readable: readonly ShownFolder[];
  /** Paths of the program's volumes, whose contents are unknown here. */
  elsewhere: readonly string[];
}

/** The kernel follows at most this many links. */
const MOST_LINKS = 40;
/** The kernel reads this many bytes of a file to find the name of its interpreter. */
const FIRST_LINE = 256;
/** A program may need further ones: a script needs its interpreter, and that may belong to an environment with another interpreter. */
const MOST_STEPS = 6;
/** Absolute paths in a line of shell commands. */
const PATHS = /(?<![\w.-])\/[^\s'"`;|&<>()$*?]+/g;

/** Undefined where nothing explains a missing program. */
export async function unseenProgram(sight: Sight): Promise<string | undefined> {
  for (const program of await programsOf(sight)) {
    const hidden = await hiddenFrom(program, sight);
    if (hidden.length > 0) return reasonFor(program, hidden, sight.readable);
  }
  return undefined;
}

function reasonFor(program: string, hidden: readonly string[], readable: readonly ShownFolder[]): string {
  const [first] = hidden;
  const what = first === program ? program : `${program} needs ${first}, which`;
  const folders = [...new Set([...readable.map(({ path }) => path), ...hidden.map(folderOf)])];
  const them =
    hidden.length > 1 ? `its folder and that of ${hidden.slice(1).join(" and ")}, which it needs,` : "its folder";
  return `${what} exists on this machine but is not shown to programs: add ${them} to ${SETTING}, such as ${SETTING}=${folders.join(":")}`;
}

/** The folder that has to be shown. An environment has its programs in `bin` and also needs the folders beside `bin`. */
const folderOf = (program: string) => {
  const folder = dirname(program);
  return basename(folder) === "bin" && dirname(dirname(folder)) !== "/" ? dirname(folder) : folder;
};

/** The programs that a command may run, as paths inside the sandbox. */
async function programsOf({ command: [first = "", ...more], path }: Sight): Promise<string[]> {
  const named = first.includes("/") ? [resolve(APP, first)] : path.split(":").map((folder) => join("/", folder, first));
  return [...named, ...more.flatMap((word) => word.slice(0, 10_000).match(PATHS) ?? []).slice(0, 20)].map(normalize);
}

/** The real paths of the program, its link targets and its interpreters that exist on the machine and are not shown. */
async function hiddenFrom(program: string, sight: Sight): Promise<string[]> {
  const hidden: string[] = [];
  let next: string | undefined = program;
  for (let step = 0; next !== undefined && step < MOST_STEPS; step++) {
    const found: Found | undefined = await follow(next, sight, hidden.map(folderOf));
    if (!found) return hidden;
    if (found.hidden) hidden.push(found.path);
    next = found.hidden ? found.path : await interpreterOf(found.outside);
  }
  return hidden;
}

type Found = { path: string; hidden: true } | { path: string; hidden: false; outside: string };

/** Resolves a program's path as the sandbox would. Undefined where there is no such program, or where it cannot be known. */
async function follow(program: string, sight: Sight, assumed: readonly string[]): Promise<Found | undefined> {
  let path = program;
  for (let links = 0; links < MOST_LINKS; links++) {
    const outside = outsideOf(path, sight, assumed);
    if (outside === undefined)
      return (await isProgram(path)) && !isForeseen(path, sight) ? { path, hidden: true } : undefined;
    const link = await firstLink(path, (one) => outsideOf(one, sight, assumed));
    if (!link) return (await isProgram(outside)) ? { path, hidden: false, outside } : undefined;
    path = link;
  }
  return undefined;
}

/** Where a path leads after its first symbolic link. */
async function firstLink(path: string, outsideOf: (path: string) => string | undefined): Promise<string | undefined> {
  const names = path.split("/").slice(1);
  for (let n = 1; n <= names.length; n++) {
    const way = `/${names.slice(0, n).join("/")}`;
    const outside = outsideOf(way);
    const found = outside === undefined ? undefined : await lstat(outside).catch(() => undefined);
    if (found?.isSymbolicLink()) return resolve(dirname(way), await readlink(outside!), names.slice(n).join("/"));
  }
  return undefined;
}

/** The path on the machine for a path inside the sandbox; undefined for a path that is not shown. */
function outsideOf(path: string, { app, readable }: Sight, assumed: readonly string[]): string | undefined {
  if (isInside(path, APP)) return app === undefined ? undefined : join(app, path.slice(APP.length));
  const shown = readable.find((one) => isInside(path, one.path));
  if (shown) return join(shown.source, path.slice(shown.path.length));
  return [...ALWAYS_SHOWN, ...assumed].some((folder) => isInside(path, folder)) ? path : undefined;
}

/** Whether the sandbox has its own contents at this path instead of the machine's. */
const isForeseen = (path: string, { elsewhere }: Sight) =>
  [APP, "/tmp", "/proc", "/dev", OURS, ...elsewhere].some((folder) => isInside(path, folder));

const isProgram = async (path: string) =>
  access(path, constants.X_OK).then(
    async () => (await stat(path)).isFile(),
    () => false,
  );

async function interpreterOf(file: string): Promise<string | undefined> {
  await using opened = await open(file).catch(() => undefined);
  if (!opened) return undefined;
  const { buffer, bytesRead } = await opened.read({ buffer: Buffer.alloc(FIRST_LINE) });
  const [, interpreter] = /^#!\s*(\/[^\s]+)/.exec(buffer.toString("utf8", 0, bytesRead)) ?? [];
  return interpreter === undefined ? undefined : normalize(interpreter);
}
