/** Paths on a volume: where a person is, what a new path may be, and in which order entries are shown. */
import type { VolumeFile } from "@millrace/platform/resources/volume-files/model.ts";

/** The folders from the top to this path, each with its own. */
export function crumbsOf(path: string): { name: string; path: string }[] {
  const parts = path === "" ? [] : path.split("/");
  return parts.map((name, index) => ({ name, path: parts.slice(0, index + 1).join("/") }));
}

export const folderOf = (path: string): string => path.split("/").slice(0, -1).join("/");
export const joined = (folder: string, name: string): string => (folder === "" ? name : `${folder}/${name}`);

const LONGEST_NAME = 255;
const LONGEST_PATH = 1024;
const bytesOf = (text: string) => new TextEncoder().encode(text).length;

/** Why the server would refuse this path; undefined where it would not. */
export function faultOfPath(path: string): string | undefined {
  if (path === "") return "Enter a name.";
  const parts = path.split("/");
  if (parts.includes("")) return "A path has no slash at its ends and no two in a row.";
  if (parts.some((part) => part === "." || part === "..")) return "No part of a path is . or ..";
  if (parts.some((part) => bytesOf(part) > LONGEST_NAME)) return `A name has ${LONGEST_NAME} bytes at most.`;
  return bytesOf(path) > LONGEST_PATH ? `A path has ${LONGEST_PATH} bytes at most.` : undefined;
}

const names = new Intl.Collator(undefined, { numeric: true });

/** Folders first, each by name as people count: `run 2` before `run 10`. */
export const inOrder = (files: readonly VolumeFile[]): VolumeFile[] =>
  files.toSorted(
    (one, other) =>
      Number(other.kind === "FOLDER") - Number(one.kind === "FOLDER") || names.compare(one.name, other.name),
  );

const IMAGES = new Set(["png", "jpg", "jpeg", "gif", "webp", "avif", "bmp", "ico"]);

/** What is shown as an image is what the server serves as one. A drawing (SVG) is text, as it can hold scripts. */
export const isImage = (name: string): boolean => IMAGES.has(name.split(".").pop()?.toLowerCase() ?? "");

/** A text has no zero bytes. */
export const isText = (bytes: Uint8Array): boolean => !bytes.includes(0);
