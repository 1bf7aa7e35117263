/** Why a program that is on this machine is not found in the sandbox, in words for who may know what is on the machine. */
import { access, constants, lstat, open, readlink, stat } from "node:fs/promises";
import { basename, dirname, join, normalize, resolve } from "node:path";
import { APP } from "../../ports/compute/mount-paths.ts";
import { isInside } from "../machine/host-image.ts";
import { ALWAYS_SHOWN, SETTING, type ShownFolder } from "./readable-folders.ts";
import { OURS } from "./sandbox.ts";

export interface Sight {
  command: readonly string[];
  /** The variable of this name that the program gets. */
  path: string;
  /** The folder of its image. */
  app: string | undefined;
  readable: readonly ShownFolder[];
  /** What else it sees, which nobody can foresee: its volumes. */
  elsewhere: readonly string[];
}

/** As the kernel has it. */
const MOST_LINKS = 40;
/** How much of a file may name its interpreter, as the kernel reads it. */
const FIRST_LINE = 256;
/** A program may need a further one: a script its interpreter, an interpreter that of its environment. */
const MOST_STEPS = 6;
/** The paths in a line for a shell. */
const PATHS = /(?<![\w.-])\/[^\s'"`;|&<>()$*?]+/g;

/** Undefined where nothing explains it. */
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

/** An environment has its programs in `bin`, and needs what is beside that. */
const folderOf = (program: string) => {
  const folder = dirname(program);
  return basename(folder) === "bin" && dirname(dirname(folder)) !== "/" ? dirname(folder) : folder;
};

/** What a command may mean to run, as paths inside. */
async function programsOf({ command: [first = "", ...more], path }: Sight): Promise<string[]> {
  const named = first.includes("/") ? [resolve(APP, first)] : path.split(":").map((folder) => join("/", folder, first));
  return [...named, ...more.flatMap((word) => word.slice(0, 10_000).match(PATHS) ?? []).slice(0, 20)].map(normalize);
}

/** Those of the program, what it is a link to and what interprets it that are there and not shown, by their real paths. */
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

/** Walks to a program as inside, where links lead to what is inside; undefined where there is none, or nobody can tell. */
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

/** Where a path leads by the first link on the way to it. */
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

/** Where on the machine a path inside is; undefined for one that is not shown. */
function outsideOf(path: string, { app, readable }: Sight, assumed: readonly string[]): string | undefined {
  if (isInside(path, APP)) return app === undefined ? undefined : join(app, path.slice(APP.length));
  const shown = readable.find((one) => isInside(path, one.path));
  if (shown) return join(shown.source, path.slice(shown.path.length));
  return [...ALWAYS_SHOWN, ...assumed].some((folder) => isInside(path, folder)) ? path : undefined;
}

/** A place that programs have otherwise than the machine. */
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
