/** The files of the built console, all read into memory at once. Requests look up files there and never touch the disk. */
import { hash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";

export interface ConsoleFile {
  type: string;
  /** Whether the name contains a hash of the contents, so that browsers may keep the file for ever. */
  isHashed: boolean;
  /** The file as it is, and as the build compressed it in advance. */
  forms: Partial<Record<Encoding, Form>> & { identity: Form };
}

export interface Form {
  bytes: Buffer;
  etag: string;
}

export type Encoding = "identity" | "br" | "gzip";

/** By the path that a browser asks for. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>;

export const INDEX = "/index.html";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".txt": "text/plain; charset=utf-8",
  ".md": "text/markdown; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".webp": "image/webp",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".wasm": "application/wasm",
};

const COMPRESSED: Record<string, Encoding> = { ".br": "br", ".gz": "gzip" };
/** The bundler's names for its files, such as `index-B7x_kQ2p.js`. */
const HASHED = /^\/assets\/.*-[\w-]{8,}\.\w+$/;

/** Undefined if nothing is built yet. */
export async function readConsole(folder: string): Promise<ConsoleFiles | undefined> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(ifNone);
  const paths = found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const read = await Promise.all(paths.map(async (path) => [urlOf(folder, path), await readFile(path)] as const));
  const all = new Map(read);
  const files = new Map<string, ConsoleFile>();
  for (const [url, bytes] of all) if (isServed(url, all)) files.set(url, fileOf(url, bytes, all));
  return files.has(INDEX) ? files : undefined;
}

/** Differs after each build. Undefined if nothing is built, or if it cannot be told. */
export async function buildOf(folder: string): Promise<string | undefined> {
  const page = await stat(join(folder, INDEX)).catch(() => undefined);
  return page && `${page.ino} ${page.ctimeMs}`;
}

const urlOf = (folder: string, path: string) => `/${relative(folder, path).split(sep).join("/")}`;

/** Source maps are not served, since the console's sources are in the repository. Compressed forms are no files of their own. */
function isServed(url: string, all: ReadonlyMap<string, Buffer>): boolean {
  const ending = extname(url);
  const isForm = ending in COMPRESSED && all.has(url.slice(0, -ending.length));
  return ending !== ".map" && !isForm && !/\.map\.\w+$/.test(url);
}

function fileOf(url: string, bytes: Buffer, all: ReadonlyMap<string, Buffer>): ConsoleFile {
  const forms: ConsoleFile["forms"] = { identity: formOf(bytes) };
  for (const [ending, encoding] of Object.entries(COMPRESSED)) {
    const compressed = all.get(url + ending);
    if (compressed) forms[encoding] = formOf(compressed);
  }
  return { type: TYPES[extname(url)] ?? "application/octet-stream", isHashed: HASHED.test(url), forms };
}

const formOf = (bytes: Buffer): Form => ({ bytes, etag: `"${hash("sha256", bytes, "base64url").slice(0, 22)}"` });

function ifNone(error: NodeJS.ErrnoException): [] {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
  throw error;
}
