/** The files of one volume as the server itself reads and writes them, while programs that nobody trusts do the same. */

/**
 * Names from the top of the volume down. Nothing is at one that is empty, `.` or `..`, or has a slash or a NUL in it, and nothing can be put
 * there. No path leads out of the volume: a name that is a link, a pipe, a socket or a device is as one that is not there, whatever becomes of
 * it while it is looked at.
 */
export type FilePath = readonly string[];

export interface FileFacts {
  kind: "file" | "folder";
  /** Of a folder 0. */
  size: number;
  /** A time of the years 1970 to 9999, whatever programs set. */
  modifiedAt: number;
  /** Another one whenever the contents are others. */
  tag: string;
}

export interface OpenedFile extends AsyncDisposable {
  readonly facts: FileFacts;
  /** From `start` on, `end` included, as fast as it is taken. */
  read(range?: { start: number; end: number }): AsyncIterable<Buffer>;
}

/** A file that nobody sees yet. Disposed without being kept, it is gone. */
export interface Draft extends AsyncDisposable {
  write(chunk: Uint8Array): Promise<void>;
  /** On the disk when it resolves, at once and whole, in place of a file that was there; folders on the way are made. */
  keep(path: FilePath, options?: KeepOptions): Promise<FileFacts>;
}

export interface KeepOptions {
  /** Throws FileRefused `taken` where something is there. */
  ifAbsent?: boolean;
  /** Among the hidden ones. */
  hidden?: boolean;
}

export interface Entry {
  name: string;
  kind: FileFacts["kind"];
}

export interface Listing {
  after?: string | undefined;
  startsWith?: string | undefined;
  most: number;
}

export interface Files {
  /** Undefined where there is neither a file nor a folder. */
  find(path: FilePath): Promise<FileFacts | undefined>;
  /** Undefined where there is no file. */
  open(path: FilePath): Promise<OpenedFile | undefined>;
  draft(): Promise<Draft>;
  makeFolder(path: FilePath): Promise<FileFacts>;
  /** A file, or a folder that is empty; what is not there, and a folder that holds something, stays as it is. */
  remove(path: FilePath): Promise<void>;
  /**
   * What a folder holds after a name, in the order of the bytes, a folder's name counted with a slash behind it; no more than `most`. Names that are
   * no text are left out. Undefined where there is no such folder.
   */
  list(folder: FilePath, ask: Listing): Promise<Entry[] | undefined>;
  /** Files of the server's own on the same volume: they count against its size, and nobody sees them among the others. */
  readonly hidden: Pick<Files, "find" | "open" | "remove" | "list">;
}

export type FileRefusal =
  /** There is a folder, or something else than a file, in the place of the file. */
  | "taken"
  /** A file stands where a folder would have to be. */
  | "no-folder"
  /** Nothing more fits. */
  | "full"
  | "long-name"
  /** The server may not do that. */
  | "forbidden";

export class FileRefused extends Error {
  readonly reason: FileRefusal;

  constructor(reason: FileRefusal, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** No folder has anything under such a name: a system would take it for another place, or for several names. */
export const isNoName = (name: string) => name === "" || name === "." || name === ".." || /[/\0]/.test(name);

export const noName = (name: string) => new FileRefused("no-folder", `'${name}' is no name of a file or folder.`);

/** The last moment of the year 9999, after which no usual form of a time goes. */
export const LATEST_FILE_TIME = 253_402_300_799_999;

/** The folder for what is hidden. */
export const HIDDEN_FOLDER = ".millrace-s3";
