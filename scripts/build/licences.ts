/** Gathers the licences of the packages whose code is in a build, since a copy of their code has to come with a copy of its licence. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

const PACKAGE = /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//;
const FILE = /^(licen[cs]e|copying|notice)/i;

/** `modules` are the paths of all files in a build. */
export async function licencesOf(modules: readonly string[]): Promise<string> {
  const folders = new Set(modules.flatMap((path) => PACKAGE.exec(path)?.[1] ?? []));
  const texts = await Promise.all([...folders].map(licenceIn));
  const begin = "The files of this folder contain code of these packages.\n";
  return [begin, ...[...new Set(texts)].sort()].join(`\n${"-".repeat(80)}\n\n`);
}

async function licenceIn(folder: string): Promise<string> {
  const { name, version, license, author } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const files = (await readdir(folder)).filter((file) => FILE.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  const whose = typeof author === "object" ? author?.name : author;
  // A package without the text of its licence names one. Its author is named with it, as all of these licences ask.
  const named = texts.length === 0 && whose ? [`by ${whose}`] : [];
  const parts = [`${name} ${version}: ${license}`, ...named, ...texts.map((text) => text.trim())];
  return `${parts.join("\n\n")}\n`;
}
