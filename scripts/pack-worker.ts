/** Packs the worker library for npm: plain JavaScript with types, because Node strips no types below node_modules. */
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const execute = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));

/** Writes the tarball into `folder` and returns its path. */
export async function packWorker(folder: string): Promise<string> {
  const stage = await mkdtemp(join(tmpdir(), "millrace-worker-"));
  try {
    await compile(stage);
    await writeFile(join(stage, "package.json"), JSON.stringify(await manifest(), null, 2));
    for (const name of ["worker/README.md", "LICENSE"])
      await cp(join(root, name), join(stage, name.split("/").at(-1)!));
    const { stdout } = await execute("npm", ["pack", "--json", "--pack-destination", resolve(folder)], { cwd: stage });
    return join(resolve(folder), JSON.parse(stdout)[0].filename);
  } finally {
    await rm(stage, { recursive: true });
  }
}

async function compile(stage: string): Promise<void> {
  const options = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      target: "ES2023",
      noEmit: false,
      declaration: true,
      allowImportingTsExtensions: false,
      rewriteRelativeImportExtensions: true,
      rootDir: join(root, "worker/src"),
      outDir: join(stage, "dist"),
      typeRoots: [join(root, "node_modules/@types")],
    },
    include: [],
    files: [join(root, "worker/src/main.ts")],
  };
  const project = join(stage, "tsconfig.json");
  await writeFile(project, JSON.stringify(options));
  // This uses the current Node, because the first one on the path may be too old for the compiler.
  await execute(process.execPath, [join(root, "node_modules/.bin/tsc"), "-p", project]);
  await rm(project);
}

async function manifest() {
  const { exports: _, files: __, ...rest } = JSON.parse(await readFile(join(root, "worker/package.json"), "utf8"));
  return { ...rest, exports: { ".": { types: "./dist/main.d.ts", default: "./dist/main.js" } }, files: ["dist"] };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await packWorker(process.argv[2] ?? "."));
