/** Builds the console and the documentation into `console/dist`, with compressed copies of all files, and notes what they were built from. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { cp, glob, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { build, type Plugin } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const home = join(root, "console");
/** The launcher compares the files that are named here with what they were, and builds again when one of them changed. */
const note = join(root, "node_modules/.cache/console-files");
const COMPRESSED = /\.(js|css|html|svg|json)$/;
const SITE = join(root, "site/src/build.ts");
const DOCUMENTS = ["docs/**/*.md", "openapi*.json", "site/{src,layouts,public}/*"];

/** Builds the console into `folder`, with the documentation below `docs`. Returns the files of ours that they were built from. */
export async function consoleInto(folder: string): Promise<Set<string>> {
  const sources = new Set<string>();
  await build({
    configFile: join(home, "vite.config.ts"),
    logLevel: "error",
    build: { outDir: folder },
    plugins: [sourcesInto(sources)],
  });
  // The generator works on the current folder, so it gets a process of its own.
  await promisify(execFile)(process.execPath, [SITE, join(folder, "docs")], { cwd: root });
  await cp(join(folder, "docs/llms.txt"), join(folder, "llms.txt"));
  for await (const path of glob(DOCUMENTS, { cwd: root })) sources.add(path);
  await compress(folder);
  return sources;
}

async function buildConsole(): Promise<void> {
  const made = join(home, `dist.${randomBytes(4).toString("hex")}`);
  let sources: Set<string>;
  try {
    sources = await consoleInto(made);
    await replace(made);
  } finally {
    await rm(made, { recursive: true, force: true });
  }
  await mkdir(join(root, "node_modules/.cache"), { recursive: true });
  await writeFile(note, `${[...sources].toSorted().join("\n")}\n`);
}

/** Our own files; packages are told by the lock file. */
function sourcesInto(sources: Set<string>): Plugin {
  return {
    name: "sources",
    generateBundle() {
      for (const id of this.getModuleIds()) {
        const path = id.split("?")[0]!;
        if (path.startsWith(root) && !path.includes("/node_modules/")) sources.add(relative(root, path));
      }
      for (const path of dataSources()) sources.add(path);
      for (const path of [
        "console/index.html",
        "console/public/start.js",
        "console/vite.config.ts",
        "package-lock.json",
      ])
        sources.add(path);
    },
  };
}

/** What the `.data.ts` files import. The build runs them, and so has none of it among its modules. */
function dataSources(): Set<string> {
  const found = new Set<string>();
  const follow = (path: string) => {
    if (found.has(path)) return;
    found.add(path);
    for (const [, name] of readFileSync(join(root, path), "utf8").matchAll(
      /from "((?:\.|@millrace\/platform\/).*?\.ts)"/g,
    )) {
      const inPlatform = name!.replace("@millrace/platform/", "platform/src/");
      follow(inPlatform === name ? join(dirname(path), name) : inPlatform);
    }
  };
  for (const path of globSync("console/src/**/*.data.ts", { cwd: root })) follow(path);
  return found;
}

async function compress(folder: string): Promise<void> {
  const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } };
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !COMPRESSED.test(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = await readFile(path);
    await Promise.all([
      promisify(brotliCompress)(bytes, brotli).then((small) => writeFile(`${path}.br`, small)),
      promisify(gzip)(bytes, { level: 9 }).then((small) => writeFile(`${path}.gz`, small)),
    ]);
  }
}

/** A folder cannot be replaced in one step: for a moment there is none, and a server that looks then looks again later. */
async function replace(made: string): Promise<void> {
  const old = `${made}.old`;
  await rename(join(home, "dist"), old).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  await rename(made, join(home, "dist"));
  await rm(old, { recursive: true, force: true });
}

if (import.meta.main) await buildConsole();
