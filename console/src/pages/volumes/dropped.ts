/** The files that were dropped on a page, and those in dropped folders, each with its path below the place of the drop. */
import type { Upload } from "./uploads.ts";

export type Dropped = Pick<Upload, "path" | "file">;

/** Each is a line on the page. A tree of more is better synchronized over S3. */
export const MOST_DROPPED = 1000;

/** Up to one file more than are taken, which tells that there are too many. */
export async function droppedIn({ items }: Pick<DataTransfer, "items">): Promise<Dropped[]> {
  // The items are empty once the event is over, so all are asked for before anything is awaited.
  const roots = [...items]
    .filter(({ kind }) => kind === "file")
    .map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const found: Dropped[] = [];
  for (const { entry, file } of roots) {
    if (entry?.isDirectory) await gather(entry, found);
    else if (file) found.push({ path: file.name, file });
  }
  return found.slice(0, MOST_DROPPED + 1);
}

async function gather(entry: FileSystemEntry, found: Dropped[]): Promise<void> {
  if (found.length > MOST_DROPPED) return;
  if (!entry.isDirectory) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    found.push({ path: entry.fullPath.replace(/^\//, ""), file });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const read = () => new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
  // A reader tells some at a time, and none at its end.
  for (let some = await read(); some.length > 0; some = await read()) {
    for (const one of some) await gather(one, found);
  }
}
