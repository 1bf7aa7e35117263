/** The files in a Pod, accessed with programs that every image with a shell has. */
import { timestamp } from "../../../kernel/clock.ts";
import { Failure, failureFrom } from "./failure.ts";
import { type Begin, OpenFile } from "./open-file.ts";
import { type Attributes, type Disk, type Entry, flags } from "./packets.ts";
import type { ShellInPod } from "./shell.ts";

const STAT = "%f %s %u %g %X %Y";
const STATED = /^([0-9a-f]+) (\d+) (\d+) (\d+) (\d+) (\d+)(?: (.*))?$/s;
const STAT_DISK = "%s %S %b %f %a %c %d %l 0x%i";
const STATED_DISK = /^(?:\d+ ){8}0x[0-9a-f]+$/;
const PERMISSIONS = 0o7777;

/** Without a folder before it, a name might be taken for an option. */
const fileAt = (path: string) => (path.startsWith("/") ? path : `./${path}`);

export class FilesInPod {
  readonly #shell: ShellInPod;
  readonly #begin: Begin;

  constructor(shell: ShellInPod, begin: Begin) {
    this.#shell = shell;
    this.#begin = begin;
  }

  async attributes(path: string, { follow }: { follow: boolean }): Promise<Attributes> {
    const output = await this.#do(`stat ${follow ? "-L " : ""}-c '${STAT}' "$1"`, fileAt(path));
    return stated(output).attributes;
  }

  /** Facts about the disk that the file is on. */
  async disk(path: string): Promise<Disk> {
    const output = await this.#do(`stat -f -c '${STAT_DISK}' "$1"`, fileAt(path));
    return diskIn(output);
  }

  async open(path: string, wanted: number): Promise<OpenFile> {
    const file = fileAt(path);
    const isSet = (flag: number) => (wanted & flag) !== 0;
    if (isSet(flags.write)) await this.#do(OPEN_TO_WRITE, file, creating(isSet));
    else await this.#do(OPEN_TO_READ, file);
    return new OpenFile(file, { begin: this.#begin, appends: isSet(flags.append) });
  }

  async list(path: string): Promise<Entry[]> {
    const output = await this.#do(LIST, fileAt(path));
    // A name may contain a newline. A line that does not start like an entry belongs to the one before.
    const lines = output.split("\n").reduce<string[]>((all, line) => {
      if (STATED.test(line) || all.length === 0) all.push(line);
      else all[all.length - 1] += `\n${line}`;
      return all;
    }, []);
    return lines.filter((line) => STATED.test(line)).map((line) => entryOf(line));
  }

  async real(path: string): Promise<string> {
    const output = await this.#do(REAL, fileAt(path === "" ? "." : path));
    return output.replace(/^\/\/+/, "/").replace(/\n$/, "");
  }

  async link(path: string): Promise<string> {
    return (await this.#do('readlink "$1"', fileAt(path))).replace(/\n$/, "");
  }

  async change(path: string, { size, uid, gid, mode, mtime }: Attributes): Promise<void> {
    const file = fileAt(path);
    if (size !== undefined) await this.#do('dd if=/dev/null of="$1" bs=1 seek="$2" count=0', file, String(size));
    if (uid !== undefined) await this.#do('chown "$2" "$1"', file, `${uid}:${gid}`);
    if (mode !== undefined) await this.#do('chmod "$2" "$1"', file, octal(mode));
    if (mtime !== undefined) await this.#do('touch -c -d "@$2" "$1"', file, String(mtime));
  }

  async make(path: string, { mode }: Attributes): Promise<void> {
    await this.#do('mkdir "$1"', fileAt(path));
    if (mode !== undefined) await this.allow(path, mode);
  }

  /** Gives a new file the requested mode, less the bits of the umask. */
  async allow(path: string, mode: number): Promise<void> {
    await this.#do('chmod "$(printf %o "$((0$2 & ~0$(umask)))")" "$1"', fileAt(path), octal(mode));
  }

  async remove(path: string): Promise<void> {
    await this.#do(REMOVE, fileAt(path));
  }

  async removeFolder(path: string): Promise<void> {
    await this.#do('rmdir "$1"', fileAt(path));
  }

  /** With `replacing`, an existing target is replaced, unless it is a folder. */
  async rename(from: string, to: string, { replacing }: { replacing: boolean }): Promise<void> {
    await this.#do(RENAME, fileAt(from), fileAt(to), replacing ? "f" : "n");
  }

  async symlink(path: string, target: string): Promise<void> {
    await this.#do('ln -s "$2" "$1"', fileAt(path), target);
  }

  close(): void {
    this.#shell.close();
  }

  async #do(command: string, ...words: string[]): Promise<string> {
    if (words.some((word) => word.includes("\0"))) throw new Failure("failure", "a name cannot hold the character NUL");
    const { code, output } = await this.#shell.do(command, ...words);
    if (code !== 0) throw failureFrom(output);
    return output;
  }
}

const OPEN_TO_READ = '[ ! -d "$1" ] || { echo "is a folder"; exit 1; }; : <"$1"';
/** The second word says what happens to an existing file, and to a missing one. */
const OPEN_TO_WRITE = `
  [ ! -d "$1" ] || { echo "is a folder"; exit 1; }
  case "$2" in
    new) set -C; : >"$1" ;;
    empty) : >"$1" ;;
    any) : >>"$1" ;;
    *) [ -e "$1" ] || { echo "No such file or directory"; exit 1; }; [ "$2" = keep ] || : >"$1"; : >>"$1" ;;
  esac`;
const LIST = `cd "$1" && if command -v find >/dev/null 2>&1
  then find . -maxdepth 1 -exec stat -c '${STAT} %n' {} +
  else stat -c '${STAT} %n' ./* ./.[!.]* 2>/dev/null; : ; fi`;
/** `readlink -f` is not available everywhere, and systems differ in how it treats missing files. */
const REAL = `readlink -f "$1" 2>/dev/null || if [ -d "$1" ]; then cd "$1" && pwd -P
  else d=$(dirname "$1") && b=$(basename "$1") && cd "$d" && printf '%s/%s\\n' "$(pwd -P)" "$b"; fi`;
const REMOVE = `if [ -d "$1" ] && [ ! -L "$1" ]; then echo "is a folder"; exit 1; fi
  [ -e "$1" ] || [ -L "$1" ] || { echo "No such file or directory"; exit 1; }
  rm -f "$1"`;
const RENAME = `[ -e "$1" ] || [ -L "$1" ] || { echo "No such file or directory"; exit 1; }
  if [ -d "$2" ] && [ ! -L "$2" ] || { [ "$3" = n ] && [ -e "$2" ]; }; then echo "the new name is taken"; exit 1; fi
  mv -f "$1" "$2"`;

function creating(isSet: (flag: number) => boolean): "new" | "empty" | "any" | "cut" | "keep" {
  if (!isSet(flags.create)) return isSet(flags.truncate) ? "cut" : "keep";
  if (isSet(flags.exclusive)) return "new";
  return isSet(flags.truncate) ? "empty" : "any";
}

const octal = (mode: number) => (mode & PERMISSIONS).toString(8).padStart(4, "0");

function stated(line: string): { attributes: Required<Attributes>; name: string } {
  const [, mode = "", size, uid, gid, atime, mtime, name = ""] = STATED.exec(line.replace(/\n$/, "")) ?? [];
  if (size === undefined) throw new Failure("failure", "nothing could be learned of it");
  const numbers = {
    size: Number(size),
    uid: Number(uid),
    gid: Number(gid),
    atime: Number(atime),
    mtime: Number(mtime),
  };
  return { attributes: { mode: Number.parseInt(mode, 16), ...numbers }, name };
}

function diskIn(output: string): Disk {
  const line = output.trim();
  if (!STATED_DISK.test(line)) throw new Failure("failure", "nothing could be learned of its disk");
  const [block, fragment, blocks, free, available, files, freeFiles, longestName, id] = line.split(" ").map(BigInt);
  return { block, fragment, blocks, free, available, files, freeFiles, longestName, id } as Disk;
}

function entryOf(line: string): Entry {
  const { attributes, name } = stated(line);
  const shown = name.replace(/^\.\//, "");
  return { name: shown, attributes, long: longOf(shown, attributes) };
}

const SORTS: Record<number, string> = { 4: "d", 8: "-", 10: "l", 2: "c", 6: "b", 1: "p", 12: "s" };

function longOf(name: string, { mode, uid, gid, size, mtime }: Required<Attributes>): string {
  const bits = [...(mode & 0o777).toString(2).padStart(9, "0")];
  const rights = bits.map((bit, at) => (bit === "1" ? "rwx"[at % 3] : "-")).join("");
  const when = timestamp(mtime * 1000)
    .slice(0, 16)
    .replace("T", " ");
  return `${SORTS[mode >> 12] ?? "?"}${rights} 1 ${String(uid).padEnd(8)} ${String(gid).padEnd(8)} ${String(size).padStart(8)} ${when} ${name}`;
}
