/** The worker library as plain JavaScript. Stripping its types takes Node longer than anything else before a worker's first job. */
import { createHash } from "node:crypto";
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { realRandom } from "../../kernel/random.ts";

interface Source {
  name: string;
  text: string;
}

/** Creates the library in `folder`, once for each version, and returns its path. */
export async function plainLibrary(library: string, folder: string): Promise<string> {
  const sources = await sourcesIn(join(library, "src"));
  const target = join(folder, digestOf(sources));
  if (await isMade(target)) return target;
  // Another server may be creating the same version at this moment.
  const unfinished = `${target}.${Buffer.from(realRandom.bytes(6)).toString("hex")}.unfinished`;
  const src = join(unfinished, "src");
  await mkdir(src, { recursive: true });
  const { name, version, type } = JSON.parse(await readFile(join(library, "package.json"), "utf8"));
  const manifest = { name, version, type, exports: { ".": "./src/main.js" } };
  await Promise.all(sources.map(({ name, text }) => writeReadable(join(src, asPlain(name)), plain(text))));
  await writeReadable(join(unfinished, MANIFEST), JSON.stringify(manifest));
  for (const made of [src, unfinished]) await chmod(made, 0o755);
  await takePlace(unfinished, target);
  return target;
}

async function takePlace(unfinished: string, target: string): Promise<void> {
  try {
    await rename(unfinished, target);
  } catch (error) {
    if (await isMade(target)) return rm(unfinished, { recursive: true, force: true });
    if ((error as NodeJS.ErrnoException).code !== "ENOTEMPTY") throw error;
    // The old folder is incomplete: the machine lost power while it was written.
    await rm(target, { recursive: true, force: true });
    await rename(unfinished, target);
  }
}

const MANIFEST = "package.json";
const SOURCE = /^(?!.*\.test\.ts$).*\.ts$/;
const IMPORTED = /(from\s*"\.[^"]*)\.ts"/g;

const asPlain = (name: string) => name.replace(/\.ts$/, ".js");
const plain = (text: string) => stripTypeScriptTypes(text).replace(IMPORTED, '$1.js"');

/**
 * Programs have to read these files, whatever the server's umask is. They are flushed to disk before the folder gets its name, since the
 * name means that all is there.
 */
async function writeReadable(file: string, text: string): Promise<void> {
  await writeFile(file, text, { flush: true });
  await chmod(file, 0o644);
}

async function sourcesIn(folder: string): Promise<Source[]> {
  const names = (await readdir(folder)).filter((name) => SOURCE.test(name)).sort();
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(join(folder, name), "utf8") })));
}

function digestOf(sources: readonly Source[]): string {
  const hash = createHash("sha256");
  for (const { name, text } of sources) hash.update(`${name}\n${text}\n`);
  return hash.digest("hex").slice(0, 16);
}

const isMade = (target: string) =>
  readFile(join(target, MANIFEST)).then(
    () => true,
    () => false,
  );
