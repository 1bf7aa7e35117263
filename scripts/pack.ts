/** Packs Millrace for npm: the built program with its console, because Node strips no types below node_modules. */
import { execFile } from "node:child_process";
import { chmod, cp, glob, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { bundle } from "./build.ts";
import { consoleInto } from "./build-console.ts";
import { packEmulator, packWorker } from "./pack-libraries.ts";

const execute = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));

/** Packages that the built code does not contain, because they look for files beside their own. */
const NEEDED = ["@node-rs/argon2", "ssh2"];
/** Files that built code reads or starts, at the places where the repository has them. The worker library is made plain at its first use. */
const AS_THEY_ARE = [
  "platform/src/**/*.sh",
  "worker/{package.json,src/!(*.test).ts}",
  "scripts/sandbox.sh",
  "examples/*/package.json",
  "examples/hub/*/{package.json,tests.json,README.md}",
  "LICENSE",
  "README.md",
  "CHANGELOG.md",
];

/** Writes the tarball into `folder` and returns its path. */
export async function pack(folder: string): Promise<string> {
  const stage = await mkdtemp(join(tmpdir(), "millrace-package-"));
  try {
    // Every part ends before the folder goes, so that the first failure is what is reported.
    const parts = await Promise.allSettled([
      bundle(join(stage, "built"), join(root, "built")),
      consoleInto(join(stage, "console/dist")),
      copyFiles(stage),
      copyExamples(stage),
      writeFile(join(stage, "package.json"), JSON.stringify(await manifest(), null, 2)),
    ]);
    for (const part of parts) if (part.status === "rejected") throw part.reason;
    await cp(join(root, "scripts/packed-launcher.sh"), join(stage, "millrace"));
    await chmod(join(stage, "millrace"), 0o755);
    const { stdout } = await execute("npm", ["pack", "--json", "--pack-destination", resolve(folder)], { cwd: stage });
    return join(resolve(folder), JSON.parse(stdout)[0].filename);
  } finally {
    await rm(stage, { recursive: true });
  }
}

async function copyFiles(stage: string): Promise<void> {
  for await (const path of glob(AS_THEY_ARE, { cwd: root })) await cp(join(root, path), join(stage, path));
}

/** Examples become plain JavaScript under the same names with `.js`, and the listings of the hub start those. */
async function copyExamples(stage: string): Promise<void> {
  for await (const path of glob("examples/hub/*/hub.json", { cwd: root })) {
    const text = await readFile(join(root, path), "utf8");
    await mkdir(dirname(join(stage, path)), { recursive: true });
    await writeFile(join(stage, path), text.replace(/("args": "node \w+)\.ts"/, '$1.js"'));
  }
  for await (const path of glob("examples/{*,hub/*}/!(*.test).ts", { cwd: root })) {
    const target = join(stage, path.replace(/\.ts$/, ".js"));
    const source = stripTypeScriptTypes(await readFile(join(root, path), "utf8"));
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, source.replaceAll(/(["'`]\.\/[\w-]+)\.ts(["'`])/g, "$1.js$2"));
  }
}

async function manifest() {
  const own = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const platform = JSON.parse(await readFile(join(root, "platform/package.json"), "utf8"));
  return {
    name: "millrace",
    version: platform.version,
    description: own.description,
    license: own.license,
    type: "module",
    bin: { millrace: "millrace" },
    os: ["linux"],
    files: ["millrace", "built", "console", "platform", "worker", "scripts", "examples", "CHANGELOG.md"],
    dependencies: Object.fromEntries(NEEDED.map((name) => [name, platform.dependencies[name]])),
    optionalDependencies: own.optionalDependencies,
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2] ?? ".";
  for (const tarball of await Promise.all([pack(folder), packWorker(folder), packEmulator(folder)]))
    console.log(tarball);
}
