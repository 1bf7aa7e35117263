/** Builds what the launcher starts: the command line, the server and their threads as plain files, in a new folder per build. */
import { createHash, randomBytes } from "node:crypto";
import { cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { inGroups, joined } from "./build/join.ts";
import { licencesOf } from "./build/licences.ts";
import {
  builtinsAsUsed,
  filesBeside,
  noPlaceOfItsOwn,
  noSubprocesses,
  onlyKubeConfig,
  requiredLate,
} from "./build/plugins.ts";
import { PROGRAMS } from "./build/programs.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const builds = join(root, "node_modules/.cache/built");
/** A process that has found a build may take this long to load it. */
const YOUNG_MS = 600_000;

const programs = PROGRAMS.map((path) => join(root, "platform/src", path));

/** These look for files beside their own. Packages try for the last one and do without it: we do not install it. */
const AS_THEY_ARE = ["ssh2", "@node-rs/argon2", "pg-native"];

/** Writes the built code into `folder`. It looks for files that are no code where they would be if it stood in `as`. */
export async function bundle(folder: string, as = folder): Promise<void> {
  await mkdir(folder, { recursive: true });
  await cp(join(root, "scripts/build/load.cjs"), join(folder, "load.cjs"));
  const sources = [join(root, "cli/src/main.ts"), ...programs];
  const modules = await Promise.all(sources.map((source) => buildProgram(source, folder, as)));
  await writeFile(join(folder, "LICENSES.txt"), await licencesOf(modules.flat()));
}

/**
 * Each program is one file, which is compiled as a whole with what the engine has kept of an earlier run, and a file that loads it. Inside,
 * each part is a function that is called when the part is first needed. Resolves with the modules that are in it.
 */
async function buildProgram(source: string, folder: string, as: string): Promise<string[]> {
  await using build = await rolldown({
    input: source,
    platform: "node",
    external: AS_THEY_ARE,
    plugins: [
      noSubprocesses,
      builtinsAsUsed,
      noPlaceOfItsOwn,
      requiredLate,
      onlyKubeConfig,
      filesBeside({ folder: as, programs }),
    ],
    // A slow machine is no reason not to build.
    checks: { bundlerTimings: false },
    // Nobody would read a warning here, so it becomes an error.
    onLog(level, { message }) {
      if (level === "warn") throw new Error(message);
    },
  });
  const name = basename(source, ".ts");
  const names = { entryFileNames: "[name].cjs", chunkFileNames: "[name]-[hash].cjs" };
  const { output } = await build.generate({ format: "cjs", comments: false, ...names });
  const parts = output.filter((part) => part.type === "chunk");
  const { first, late } = inGroups(parts);
  const given: Record<string, string> = { [name]: await writeCode(name, joined(first, parts)) };
  // The command line does not read the server's code, unless it starts one.
  if (late.length > 0) given[`${name}-late`] = await writeCode(`${name}-late`, joined(late, parts));
  await writeFile(join(folder, `${name}.cjs`), `require("./load.cjs")(${JSON.stringify(given)}, require);\n`);
  return parts.flatMap(({ moduleIds }) => moduleIds);

  /** Resolves with the digest, by which what is kept of the code is found. */
  async function writeCode(file: string, text: string): Promise<string> {
    const code = Buffer.from(inLatin1(text), "latin1");
    await writeFile(join(folder, `${file}-code.cjs`), code);
    return createHash("sha256").update(code).digest("hex").slice(0, 16);
  }
}

/** The engine keeps a text with one byte for each character, if it has no others. */
const inLatin1 = (code: string) =>
  code.replaceAll(/[^\0-\xff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** `sources` lists all source files as the launcher sees them. A build is valid for exactly these. */
async function buildFrom(sources: string): Promise<void> {
  const name = randomBytes(6).toString("hex");
  const folder = join(builds, name);
  await mkdir(folder, { recursive: true });
  try {
    await bundle(folder);
    await writeFile(join(folder, "sources"), sources);
    await writeFile(join(folder, "name"), `${name}\n`);
    await rename(join(folder, "name"), join(builds, "current"));
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  await removeOthers(name);
}

/** A running server loads parts of its build late, so its build stays as long as it runs. */
async function removeOthers(current: string): Promise<void> {
  const commands = await runningCommands();
  for (const name of await readdir(builds)) {
    const folder = join(builds, name);
    if (["current", "lock", current].includes(name) || commands.some((command) => command.includes(folder))) continue;
    if (Date.now() - (await stat(folder)).mtimeMs > YOUNG_MS) await rm(folder, { recursive: true, force: true });
  }
}

async function runningCommands(): Promise<string[]> {
  const processes = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  return Promise.all(processes.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
}

if (import.meta.main) await buildFrom(await text(process.stdin));
