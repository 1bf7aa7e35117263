/** Both sides of a copy: files of a network volume, said as `VOLUME:PATH`, and files of this machine. */
import { opendir, stat } from "node:fs/promises";
import { join, posix, sep } from "node:path";
import { parseTimestamp } from "@millrace/platform/kernel/clock.ts";
import type { VolumeFile } from "@millrace/platform/resources/volume-files/model.ts";
import { networkVolumeOperations } from "@millrace/platform/resources/volumes/operations.ts";
import type { ApiClient } from "./api.ts";
import { Failure, Refusal, wrongUse } from "./failure.ts";
import { byIdOrName, listed } from "./names.ts";

const LIST_FILES = { method: "GET", path: "/v2/network-volumes/{id}/files" } as const;

export interface RemotePath {
  volume: string;
  /** Without slashes at its ends; empty for the top of the volume. */
  path: string;
  /** Whether it ends with a slash, and so names a folder. */
  isFolder: boolean;
}

/** `data:models/a.bin`. A path of this machine that has a colon is said with `./` before it. */
export function remotePath(text: string): RemotePath | undefined {
  const [, volume, path] = /^([^/:.][^/:]*):(.*)$/s.exec(text) ?? [];
  return volume === undefined ? undefined : toPath(volume, path!);
}

const toPath = (volume: string, path: string): RemotePath => ({
  ...{ volume, path: path.replace(/^\/+|\/+$/g, ""), isFolder: path === "" || path.endsWith("/") },
});

export function mustBeRemote(text: string): RemotePath {
  const at = remotePath(text) ?? (text.includes("/") ? undefined : toPath(text, ""));
  if (!at) throw wrongUse(`'${text}' is no path on a volume: write VOLUME:PATH, such as data:models/a.bin`);
  return at;
}

/** Does the work with the volume's id, whether its id or its name was said. */
export async function withVolume<T>(api: ApiClient, volume: string, work: (id: string) => Promise<T>): Promise<T> {
  const { listNetworkVolumes, getNetworkVolume } = networkVolumeOperations;
  const get = (id: string) => api.call(getNetworkVolume, { params: { id } });
  const { id } = await byIdOrName(api, listNetworkVolumes, volume, get);
  return work(id);
}

export async function filesIn(api: ApiClient, id: string, path: string): Promise<VolumeFile[]> {
  const { files } = await listed(api, LIST_FILES, { params: { id }, query: { path: path || undefined } });
  return files as VolumeFile[];
}

/** The file or folder at a path, or undefined if there is none. */
export async function fileAt(api: ApiClient, id: string, path: string): Promise<VolumeFile | undefined> {
  const [folder, prefix] = [posix.dirname(path), posix.basename(path)];
  const query = { path: folder === "." ? undefined : folder, prefix };
  const { files } = await listed(api, LIST_FILES, { params: { id }, query }).catch((error: unknown) => {
    if (error instanceof Refusal && error.status === 404 && folder !== ".") return { files: [] };
    throw error;
  });
  return (files as VolumeFile[]).find(({ name }) => name === prefix);
}

/** A file on one side of a copy. */
export interface FileFact {
  /** Below the folder that is copied, with slashes. */
  name: string;
  size: number;
  modifiedMs: number;
  etag?: string | undefined;
}

/** A walk deeper than this has met something odd. */
const DEEPEST = 64;

/** Every file below a folder of a volume. */
export async function* remoteFiles(
  api: ApiClient,
  id: string,
  path: string,
  below = "",
  depth = 0,
): AsyncGenerator<FileFact> {
  if (depth > DEEPEST) throw new Failure(`${path} has more than ${DEEPEST} folders in each other`);
  for (const { name, kind, size, modifiedAt, etag } of await filesIn(api, id, path)) {
    const own = posix.join(below, safeName(name));
    if (kind === "FOLDER") yield* remoteFiles(api, id, posix.join(path, name), own, depth + 1);
    else yield { name: own, size, modifiedMs: parseTimestamp(modifiedAt) ?? 0, etag };
  }
}

/** A name from a server becomes a name on this machine, so it must not lead out of its folder. */
function safeName(name: string): string {
  if (name === "" || name === "." || name === ".." || name.includes("/") || name.includes("\0") || name.includes(sep))
    throw new Failure(`the server listed a file with the name '${name}', which is not taken`);
  return name;
}

/** Every file below a folder of this machine. Links are left out, as on a volume. */
export async function* localFiles(folder: string, below = "", depth = 0): AsyncGenerator<FileFact> {
  if (depth > DEEPEST) throw new Failure(`${folder} has more than ${DEEPEST} folders in each other`);
  for await (const entry of await opendir(join(folder, below))) {
    const own = posix.join(below, entry.name);
    if (entry.isDirectory()) yield* localFiles(folder, own, depth + 1);
    else if (entry.isFile()) yield { name: own, ...(await localFact(join(folder, own))) };
  }
}

export async function localFact(file: string): Promise<Omit<FileFact, "name">> {
  const { size, mtimeMs } = await stat(file);
  return { size, modifiedMs: mtimeMs };
}

/** A copy is not made again where the target has the same size and is not older. */
export const isEqual = (source: FileFact, target: Omit<FileFact, "name"> | undefined): boolean =>
  target !== undefined &&
  target.size === source.size &&
  Math.ceil(target.modifiedMs) + 1 >= Math.floor(source.modifiedMs);
