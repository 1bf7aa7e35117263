/** Packs the libraries for npm, for workers and for test suites: plain JavaScript with types, because Node strips no types below node_modules. */
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const execute = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));

/** Each is a folder of the repository. */
type Library = "worker" | "emulator";

export const packWorker = (folder: string) => packLibrary("worker", folder);

/** Its program is the package `millrace` of the same version. */
export const packEmulator = (folder: string) => packLibrary("emulator", folder);

/** Writes the tarball into `folder` and returns its path. */
async function packLibrary(library: Library, folder: string): Promise<string> {
  const stage = await mkdtemp(join(tmpdir(), `millrace-${library}-`));
  try {
    await compile(library, stage);
    await writeFile(join(stage, "package.json"), JSON.stringify(await manifest(library), null, 2));
    for (const name of [`${library}/README.md`, "LICENSE"])
      await cp(join(root, name), join(stage, name.split("/").at(-1)!));
    const { stdout } = await execute("npm", ["pack", "--json", "--pack-destination", resolve(folder)], { cwd: stage });
    return join(resolve(folder), JSON.parse(stdout)[0].filename);
  } finally {
    await rm(stage, { recursive: true });
  }
}

async function compile(library: Library, stage: string): Promise<void> {
  const options = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      target: "ES2023",
      noEmit: false,
      declaration: true,
      allowImportingTsExtensions: false,
      rewriteRelativeImportExtensions: true,
      rootDir: join(root, library, "src"),
      outDir: join(stage, "dist"),
      typeRoots: [join(root, "node_modules/@types")],
    },
    include: [],
    files: [join(root, library, "src/main.ts")],
  };
  const project = join(stage, "tsconfig.json");
  await writeFile(project, JSON.stringify(options));
  // This uses the current Node, because the first one on the path may be too old for the compiler.
  await execute(process.execPath, [join(root, "node_modules/.bin/tsc"), "-p", project]);
  await rm(project);
}

async function manifest(library: Library) {
  const { exports: _, files: __, ...rest } = JSON.parse(await readFile(join(root, library, "package.json"), "utf8"));
  const built = { exports: { ".": { types: "./dist/main.d.ts", default: "./dist/main.js" } }, files: ["dist"] };
  return { ...rest, ...built, ...(library === "emulator" && { dependencies: { millrace: rest.version } }) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await packWorker(process.argv[2] ?? "."));
