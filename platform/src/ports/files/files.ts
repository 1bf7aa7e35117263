/** The files of one volume as the server reads and writes them, while untrusted programs do the same. */

/**
 * The names from the top of the volume down. A name that is empty, `.` or `..`, or contains a slash or NUL, never exists and cannot be
 * created. No path leads out of the volume: links, pipes, sockets and devices count as absent, even if something changes while the server
 * looks.
 */
export type FilePath = readonly string[];

export interface FileFacts {
  kind: "file" | "folder";
  /** 0 for a folder. */
  size: number;
  /** A time in the years 1970 to 9999, whatever programs set. */
  modifiedAt: number;
  /** Changes whenever the contents change. */
  tag: string;
}

/** An ETag for clients. The dash says that it is not a digest of the contents: programs change files without telling. */
export const etagOf = ({ tag }: FileFacts) => `"${tag}-1"`;

export interface OpenedFile extends AsyncDisposable {
  readonly facts: FileFacts;
  /** Reads from `start` to `end` inclusive, as fast as the caller takes it. */
  read(range?: { start: number; end: number }): AsyncIterable<Buffer>;
}

/** A file that nobody sees yet. If it is disposed of before `keep`, it is gone. */
export interface Draft extends AsyncDisposable {
  write(chunk: Uint8Array): Promise<void>;
  /**
   * Puts the whole file in its place in one step, and replaces a file that was there. It is on disk when this resolves. Missing folders are
   * made.
   */
  keep(path: FilePath, options?: KeepOptions): Promise<FileFacts>;
}

export interface KeepOptions {
  /** Throws FileRefused `taken` if something is there. */
  ifAbsent?: boolean;
  /** Puts the file among the hidden ones. */
  hidden?: boolean;
}

export interface Entry {
  name: string;
  kind: FileFacts["kind"];
}

/** Where a link leads is any text, and may be out of the volume. */
export interface Link {
  name: string;
  to: string;
}

export interface Listing {
  after?: string | undefined;
  startsWith?: string | undefined;
  most: number;
}

export interface Removed {
  /** How many names were removed. */
  count: number;
  /** Whether nothing is left at the path. */
  isWhole: boolean;
}

export interface Files {
  /** Returns undefined if there is neither a file nor a folder. */
  find(path: FilePath): Promise<FileFacts | undefined>;
  /** Returns undefined if there is no file. */
  open(path: FilePath): Promise<OpenedFile | undefined>;
  /** With the size that the file will have, it throws FileRefused `full` at once if that does not fit. */
  draft(size?: number): Promise<Draft>;
  makeFolder(path: FilePath): Promise<FileFacts>;
  /** Removes a file or an empty folder. A missing path and a folder with contents are left alone. */
  remove(path: FilePath): Promise<void>;
  /**
   * Removes a file, or a folder with all that it holds: at most `most` names, the deepest first. Links, pipes and names that are not valid
   * text go too, and nothing that a link leads to. A missing path is whole at once.
   */
  removeAll(path: FilePath, most: number): Promise<Removed>;
  /**
   * Gives a file or folder another path, and makes the folders on the way. Undefined if there is none. Throws FileRefused `taken` if
   * something is at the new path. A folder is never moved into itself: FileRefused `no-folder`.
   */
  move(from: FilePath, to: FilePath): Promise<FileFacts | undefined>;
  /**
   * Lists a folder after a given name, in byte order, where a folder's name counts with a slash at its end; at most `most` entries. Names
   * that are not valid text are left out. Undefined if there is no such folder.
   */
  list(folder: FilePath, ask: Listing): Promise<Entry[] | undefined>;
  /** The links in a folder, at most `most`, with the text of where each leads. Nothing is followed. Undefined if there is no such folder. */
  links(folder: FilePath, most: number): Promise<Link[] | undefined>;
  /** The server's own files on the same volume. They count against its size, and do not appear among the others. */
  readonly hidden: Pick<Files, "find" | "open" | "remove" | "list">;
}

export type FileRefusal =
  /** A folder, or something that is not a file, is in the place of the file. */
  | "taken"
  /** A file is where a folder would have to be. */
  | "no-folder"
  /** There is no space left. */
  | "full"
  | "long-name"
  /** The system does not allow the server to do this. */
  | "forbidden";

export class FileRefused extends Error {
  readonly reason: FileRefusal;

  constructor(reason: FileRefusal, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** Such a name never exists in a folder: a system would read it as another place, or as several names. */
export const isNoName = (name: string) => name === "" || name === "." || name === ".." || /[/\0]/.test(name);

/** Whether moving to one path would put a folder into itself. */
export const isInside = (path: FilePath, folder: FilePath) =>
  path.length > folder.length && folder.every((name, at) => path[at] === name);

export const noName = (name: string) => new FileRefused("no-folder", `'${name}' is no name of a file or folder.`);

/** The last moment of the year 9999. Common time formats end there. */
export const LATEST_FILE_TIME = 253_402_300_799_999;

/** The folder of the hidden files. */
export const HIDDEN_FOLDER = ".millrace-s3";
