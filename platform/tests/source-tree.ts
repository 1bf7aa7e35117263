/** The repository's own source as data: its files, their imports, and their code without comments. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

export interface Import {
  /** A path from the repository's root, or the name of a package or Node module. */
  to: string;
  /** True for `import type` and `export type`, which do not exist at run time. */
  typeOnly: boolean;
}

export interface SourceFile {
  /** The path from the repository's root, with forward slashes. */
  path: string;
  text: string;
  imports: Import[];
}

const SOURCE_FOLDERS = ["platform", "cli", "worker", "emulator", "console", "scripts", "bench"].filter((name) =>
  existsSync(join(root, name)),
);

export function readSourceTree(): SourceFile[] {
  return SOURCE_FOLDERS.flatMap((folder) => filesUnder(join(root, folder)))
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => sourceFile(relative(root, file).split(sep).join("/"), readFileSync(file, "utf8")));
}

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === "node_modules" || entry.name === "fixtures") return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesUnder(path) : [path];
  });
}

export function sourceFile(path: string, text: string): SourceFile {
  return { path, text, imports: importsIn(path, text) };
}

/** Matches `import … from "x"`, `export … from "x"`, `import "x"` and `import("x")`. */
const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s+(type\s)?[^;"'`]*?\sfrom\s*["']([^"']+)["']|(?:^|\n)\s*import\s*["']([^"']+)["']|\bimport\(\s*["'`]([^"'`]+)["'`]\s*\)/g;

function importsIn(path: string, text: string): Import[] {
  return [...codeOf(text).matchAll(IMPORT)].map(([, type, from, bare, dynamic]) => ({
    to: resolved(path, (from ?? bare ?? dynamic)!),
    typeOnly: type !== undefined,
  }));
}

/** Resolves an import to a path from the repository's root, or to the name of a package. */
export function resolved(importer: string, specifier: string): string {
  if (specifier.startsWith(".")) return posix.join(posix.dirname(importer), specifier);
  return specifier.replace(/^@millrace\/(\w+)\//, "$1/src/");
}

/** Removes comments that begin a line or follow a space. A `/*` inside a path's text is no comment. */
export function codeOf(text: string): string {
  return text.replace(/^[ \t]*\/\*[\s\S]*?\*\//gm, "").replace(/(^|\s)\/\/.*$/gm, "$1");
}

/** Tests and their tools, which are never part of the running product. */
export function isTest(path: string): boolean {
  return /\.test\.ts$|\.conformance\.ts$|\/conformance-[^/]*\.ts$|^platform\/tests\//.test(path);
}

/** Scripts, measurements and examples: separate programs outside of the product. */
export function isTool(path: string): boolean {
  return /^(scripts|bench|worker\/examples)\//.test(path);
}
