/** Builds the container image: packs Millrace, installs the package into a folder, and gives that folder to the Dockerfile. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, glob, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { pack } from "./pack.ts";

const execute = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));

const installed = join(root, "node_modules");

/** Fills a folder with what the Dockerfile copies. The packages that the program needs are those of this checkout, so no registry is asked. */
export async function imageContext(folder: string): Promise<void> {
  const modules = join(folder, "package/node_modules");
  await mkdir(join(modules, "millrace"), { recursive: true });
  await mkdir(join(modules, ".bin"));
  await mkdir(join(folder, "data"));
  // Some builders leave out an empty folder.
  await writeFile(join(folder, "data/.keep"), "");
  const tarball = await pack(folder);
  await execute("tar", ["-xzf", tarball, "-C", join(modules, "millrace"), "--strip-components=1"]);
  await rm(tarball);
  const node = `node-linux-${process.arch}`;
  await copyNeeded([...(await neededIn(join(modules, "millrace"))), node], modules);
  await symlink("../millrace/millrace", join(modules, ".bin/millrace"));
  await symlink(`../${node}/bin/node`, join(modules, ".bin/node"));
  await trim(modules);
  await cp(join(root, "Dockerfile"), join(folder, "Dockerfile"));
}

/** Copies packages with all that they need. One that is not installed is optional, or for another kind of machine. */
async function copyNeeded(names: readonly string[], modules: string): Promise<void> {
  const seen = new Set<string>(names);
  for (const name of seen) {
    const from = join(installed, name);
    if (!existsSync(from)) continue;
    await cp(from, join(modules, name), { recursive: true });
    for (const inner of [from, ...(await nestedIn(from))]) for (const one of await neededIn(inner)) seen.add(one);
  }
}

async function neededIn(folder: string): Promise<string[]> {
  const { dependencies, optionalDependencies } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const isNode = (name: string) => name.startsWith("node-linux-");
  return Object.keys({ ...dependencies, ...optionalDependencies }).filter((name) => !isNode(name));
}

/** Packages inside a package, which npm puts there where another version is beside it. */
async function nestedIn(folder: string): Promise<string[]> {
  const found = glob("node_modules/**/package.json", { cwd: folder });
  const folders: string[] = [];
  for await (const path of found)
    if (/(^|\/)node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path)) folders.push(dirname(join(folder, path)));
  return folders;
}

/** Of Node only the program is needed: its headers and manuals are a third of its package. Nothing was compiled, so neither are the tools for that. */
async function trim(modules: string): Promise<void> {
  for await (const path of glob(["node-linux-*/{include,lib,share}", "{cpu-features,buildcheck,nan}"], {
    cwd: modules,
  }))
    await rm(join(modules, path), { recursive: true });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = await mkdtemp(join(tmpdir(), "millrace-image-"));
  try {
    await imageContext(folder);
    const args = ["build", "--tag", "millrace:latest", ...process.argv.slice(2), folder];
    const [code] = await once(spawn("docker", args, { stdio: "inherit" }), "exit");
    process.exitCode = Number(code ?? 1);
  } finally {
    await rm(folder, { recursive: true });
  }
}
