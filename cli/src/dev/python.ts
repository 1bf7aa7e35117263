/** Finds the Python of a project, and what a sandboxed program needs to see of it. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join, relative, sep } from "node:path";
import { promisify } from "node:util";
import type { Environment } from "../shell.ts";
import type { Project } from "./project.ts";

/** How a handler is run on this machine. */
export interface Program {
  cmd: string[];
  /** Folders outside the project that it needs to see. */
  readable: string[];
  env: Record<string, string>;
  /** What runs it, for people. */
  about: string;
}

/** What a Python says of itself. */
interface Found {
  executable: string;
  version: string;
  prefix: string;
  basePrefix: string;
  path: string[];
  hasSdk: boolean;
}

const SDK = "runpod";
const IMPORTS_SDK = new RegExp(`^\\s*(?:import|from)\\s+${SDK}\\b`, "m");
const VENVS = [".venv", "venv"];
const PROBE_MS = 20_000;
/** The sandbox always shows these, and everything below them. */
const ALWAYS_SHOWN = ["/usr", "/bin", "/lib", "/lib64"];

const PROBE = `
import importlib.util, json, os, sys
path = [p for p in sys.path if p and os.path.isdir(p)]
sys.path.insert(0, sys.argv[1])
print(json.dumps({
  "executable": sys.executable, "version": "%d.%d.%d" % sys.version_info[:3], "path": path,
  "prefix": sys.prefix, "basePrefix": sys.base_prefix, "hasSdk": importlib.util.find_spec("${SDK}") is not None,
}))`;

export async function pythonProgram(project: Project, env: Environment): Promise<Program> {
  const { folder, handler } = project;
  const command = commandOf(folder, env);
  const found = await probe(command, join(folder, dirname(handler)));
  const text = await readFile(join(folder, handler), "utf8");
  if (IMPORTS_SDK.test(text) && !found.hasSdk) throw new Error(missingSdk(handler, folder, found));
  const { readable, extra } = shownFor(found, folder);
  return {
    cmd: [inside(folder, found.executable) ? relative(folder, found.executable) : found.executable, "-u", handler],
    readable,
    env: extra.length > 0 ? { PYTHONPATH: extra.join(delimiter) } : {},
    about: `Python ${found.version} (${inside(folder, found.executable) ? relative(folder, found.executable) : found.executable})`,
  };
}

/** The project's own Python comes first, then the active one, then the machine's. */
function commandOf(folder: string, { VIRTUAL_ENV: active, PATH = "" }: Environment): string {
  const venvs = [...VENVS.map((name) => join(folder, name)), ...(active ? [active] : [])];
  const searched = PATH.split(delimiter).filter(isAbsolute);
  const places = [
    ...venvs.map((venv) => join(venv, "bin", "python")),
    ...["python3", "python"].flatMap((name) => searched.map((place) => join(place, name))),
  ];
  const found = places.find((place) => existsSync(place));
  if (found === undefined) throw new Error("there is no Python on this machine: install python3, then run this again");
  return found;
}

async function probe(command: string, handlerFolder: string): Promise<Found> {
  try {
    const { stdout } = await promisify(execFile)(command, ["-c", PROBE, handlerFolder], {
      cwd: "/",
      timeout: PROBE_MS,
    });
    return JSON.parse(stdout);
  } catch (error) {
    throw new Error(`${command} does not run: ${(error as Error).message.trim()}`, { cause: error });
  }
}

export function missingSdk(handler: string, folder: string, { executable, prefix, basePrefix }: Found): string {
  const isVenv = prefix !== basePrefix;
  const command = isVenv
    ? `${executable} -m pip install ${SDK}`
    : `${executable} -m venv ${join(folder, ".venv")} && ${join(folder, ".venv/bin/pip")} install ${SDK}`;
  return `${handler} imports ${SDK}, and ${executable} does not have it. This command brings it:\n\n  ${command}\n`;
}

const inside = (folder: string, path: string) =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);

/**
 * The folders that the sandbox does not show by itself. Packages outside the Python's own folders, such as those of one user, are not found
 * in the sandbox by themselves and need a path.
 */
export function shownFor({ prefix, basePrefix, path }: Found, folder: string): { readable: string[]; extra: string[] } {
  const roots = [prefix, basePrefix];
  const extra = path.filter((entry) => ![...roots, ...ALWAYS_SHOWN, folder].some((root) => inside(root, entry)));
  const readable = [...roots, ...extra].filter(
    (entry) => ![...ALWAYS_SHOWN, folder].some((root) => inside(root, entry)),
  );
  return { readable: [...new Set(readable)], extra };
}
