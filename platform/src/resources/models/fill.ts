/** Copies a model to a volume of a machine, in the layout in which the public worker looks for it. */
import type { FilePath, Files } from "../../ports/files/files.ts";
import { ModelRefused, type Snapshot, type SnapshotFile, snapshotIn, type Wanted } from "./snapshot.ts";

/** Where the files of a model are read. */
export interface ModelSource {
  /** Throws ModelRefused. */
  snapshot(): Promise<Snapshot>;
  read(file: SnapshotFile): AsyncIterable<Uint8Array>;
}

/** A folder of files that this server reaches itself. */
export function sourceIn(files: Files, folder: FilePath, wanted: Wanted): ModelSource {
  return {
    snapshot: () => snapshotIn(files, folder, wanted),
    async *read(file) {
      // The snapshot of this source has the place of each file.
      await using opened = await files.open((file as SnapshotFile & { from: FilePath }).from);
      if (opened) yield* opened.read();
    },
  };
}

/** What a model takes of a volume beside its files. */
const PER_FILE = 16_384;
const LEAST = 64 * 2 ** 20;
const SHARE = 1.06;
const GB = 2 ** 30;

/** The size of a volume that holds the snapshot, with room for what the file system itself takes. */
export const volumeGb = ({ bytes, files }: Snapshot): number => (bytes * SHARE + files.length * PER_FILE + LEAST) / GB;

export interface Filling {
  /** Told of the bytes that are there now. */
  progress(bytes: number): Promise<void> | void;
  /** Whether nobody wants it any more. */
  isOver(): boolean;
}

/** Resolves with false if it was over before the end. */
export async function fill(
  source: ModelSource,
  { files, revision }: Snapshot,
  target: Files,
  { progress, isOver }: Filling,
): Promise<boolean> {
  let bytes = 0;
  for (const file of files) {
    await using draft = await target.draft(file.size);
    let size = 0;
    for await (const chunk of source.read(file)) {
      if (isOver()) return false;
      size += chunk.length;
      if (size > file.size) throw changed(file);
      await draft.write(chunk);
      await progress(bytes + size);
    }
    if (size !== file.size) throw changed(file);
    bytes += size;
    await draft.keep(["snapshots", revision, ...file.path]);
  }
  await using ref = await target.draft();
  await ref.write(Buffer.from(revision));
  await ref.keep(["refs", "main"]);
  return !isOver();
}

const changed = ({ path }: SnapshotFile) => new ModelRefused(`'${path.join("/")}' changed while it was copied`);
