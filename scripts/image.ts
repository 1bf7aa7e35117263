/** Builds the container image: packs Millrace, installs the package into a folder, and gives that folder to the Dockerfile. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, glob, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { pack } from "./pack.ts";

const execute = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));

/** Fills a folder with what the Dockerfile copies. Only this step asks the package registry. */
export async function imageContext(folder: string): Promise<void> {
  const target = join(folder, "package");
  await mkdir(target);
  await mkdir(join(folder, "data"));
  // Some builders leave out an empty folder.
  await writeFile(join(folder, "data/.keep"), "");
  await writeFile(join(target, "package.json"), '{"private": true}\n');
  const tarball = await pack(folder);
  const quiet = ["--omit=dev", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", "--no-package-lock"];
  await execute("npm", ["install", ...quiet, "--no-save", tarball], { cwd: target });
  await rm(tarball);
  await trim(join(target, "node_modules"));
  await cp(join(root, "Dockerfile"), join(folder, "Dockerfile"));
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
