/** Serves SFTP on a channel, one request after another, so that a client that sends more has to wait. */
import { isProblem } from "../../../kernel/problem.ts";
import type { Line } from "../line.ts";
import { Failure } from "./failure.ts";
import type { FilesInPod } from "./files.ts";
import type { OpenFile } from "./open-file.ts";
import { answer, asks, type Entry, LARGEST_PACKET, Malformed, type PacketReader, packetsFrom } from "./packets.ts";

const POSIX_RENAME = "posix-rename@openssh.com";
const STATVFS = "statvfs@openssh.com";
const FSTATVFS = "fstatvfs@openssh.com";
/** Each extension with the version that clients know. */
const EXTENSIONS = { [POSIX_RENAME]: "1", [STATVFS]: "2", [FSTATVFS]: "2" };
/** Each open handle may have a program running in the Pod. */
const MOST_HANDLES = 16;
/** The most entries in one answer, so that it is not too large for clients. */
const ENTRIES_AT_ONCE = 100;
const ROOM_FOR_HEAD = 1024;

interface OpenFolder {
  left: Entry[];
}

/** Resolves when the client is done or gone. Throws ShellGone when the Pod is gone. */
export async function serveFiles(line: Line, files: FilesInPod): Promise<void> {
  const served = new ServedFiles(line, files);
  try {
    for await (const packet of packetsFrom(line.channel)) await served.answer(packet);
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    await line.say(`what the client sent is no SFTP: ${error.message}`);
  } finally {
    served.close();
  }
}

class ServedFiles {
  readonly #line: Line;
  readonly #files: FilesInPod;
  readonly #handles = new Map<string, OpenFile | OpenFolder>();
  #made = 0;
  /** The last error shown. Clients send many requests ahead, and their common error is shown once. */
  #said = "";

  constructor(line: Line, files: FilesInPod) {
    this.#line = line;
    this.#files = files;
  }

  async answer(packet: PacketReader): Promise<void> {
    const ask = packet.byte();
    if (ask === asks.init) return this.#line.write(answer.version(EXTENSIONS));
    const id = packet.number();
    try {
      await this.#line.write(await this.#do(ask, id, packet));
    } catch (error) {
      await this.#line.write(await this.#refusal(id, error));
    }
  }

  close(): void {
    for (const open of this.#handles.values()) if ("abandon" in open) open.abandon();
    this.#handles.clear();
  }

  /** Clients show only the status, so the message also goes to the error stream. */
  async #refusal(id: number, error: unknown): Promise<Buffer> {
    if (isProblem(error)) return this.#refusal(id, new Failure("failure", error.message));
    if (!(error instanceof Failure)) throw error;
    if (error.status === "failure" && error.message !== this.#said) {
      this.#said = error.message;
      await this.#line.say(error.message);
    }
    return answer.status(id, error.status, error.message);
  }

  async #do(ask: number, id: number, packet: PacketReader): Promise<Buffer> {
    const files = this.#files;
    const ok = async (work: Promise<unknown>) => {
      await work;
      return answer.status(id, "ok");
    };
    const one = (name: string) => answer.names(id, [{ name, long: name, attributes: {} }]);
    switch (ask) {
      case asks.open: {
        const [path, wanted] = [packet.text(), packet.number()];
        const { mode } = packet.attributes();
        return answer.handle(id, await this.#open(path, wanted, mode));
      }
      case asks.opendir:
        return answer.handle(id, this.#hold({ left: await files.list(packet.text()) }));
      case asks.close:
        return ok(this.#release(packet.text()));
      case asks.read: {
        const [file, at, length] = [this.#file(packet.text()), packet.large(), packet.number()];
        const bytes = await file.read(at, Math.min(length, LARGEST_PACKET - ROOM_FOR_HEAD));
        return bytes.length > 0 ? answer.data(id, bytes) : answer.status(id, "eof");
      }
      case asks.write:
        return ok(this.#file(packet.text()).write(packet.large(), packet.bytes()));
      case asks.readdir: {
        const entries = this.#folder(packet.text()).left.splice(0, ENTRIES_AT_ONCE);
        return entries.length > 0 ? answer.names(id, entries) : answer.status(id, "eof");
      }
      case asks.lstat:
      case asks.stat:
        return answer.attributes(id, await files.attributes(packet.text(), { follow: ask === asks.stat }));
      case asks.fstat: {
        const file = this.#file(packet.text());
        await file.settle();
        return answer.attributes(id, await files.attributes(file.path, { follow: true }));
      }
      case asks.setstat:
        return ok(files.change(packet.text(), packet.attributes()));
      case asks.fsetstat: {
        const file = this.#file(packet.text());
        // Pending writes would change the attributes again, so they are finished first.
        await file.settle();
        return ok(files.change(file.path, packet.attributes()));
      }
      case asks.remove:
        return ok(files.remove(packet.text()));
      case asks.mkdir:
        return ok(files.make(packet.text(), packet.attributes()));
      case asks.rmdir:
        return ok(files.removeFolder(packet.text()));
      case asks.realpath:
        return one(await files.real(packet.text()));
      case asks.readlink:
        return one(await files.link(packet.text()));
      case asks.rename:
        return ok(files.rename(packet.text(), packet.text(), { replacing: false }));
      case asks.symlink: {
        // The target comes first, as every client sends it.
        const target = packet.text();
        return ok(files.symlink(packet.text(), target));
      }
      case asks.extended:
        switch (packet.text()) {
          case POSIX_RENAME:
            return ok(files.rename(packet.text(), packet.text(), { replacing: true }));
          case STATVFS:
            return answer.disk(id, await files.disk(packet.text()));
          case FSTATVFS:
            return answer.disk(id, await files.disk(this.#file(packet.text()).path));
        }
    }
    return answer.status(id, "unknown", "this is not offered here");
  }

  async #open(path: string, wanted: number, mode: number | undefined): Promise<string> {
    this.#makeSureOfRoom();
    const isNew = mode !== undefined && (await this.#isMissing(path));
    const file = await this.#files.open(path, wanted);
    if (isNew) await this.#files.allow(file.path, mode);
    return this.#hold(file);
  }

  async #isMissing(path: string): Promise<boolean> {
    try {
      await this.#files.attributes(path, { follow: true });
      return false;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return error.status === "missing";
    }
  }

  #makeSureOfRoom(): void {
    if (this.#handles.size >= MOST_HANDLES)
      throw new Failure("failure", `no more than ${MOST_HANDLES} files can be open at once`);
  }

  #hold(open: OpenFile | OpenFolder): string {
    this.#makeSureOfRoom();
    const handle = String(++this.#made);
    this.#handles.set(handle, open);
    return handle;
  }

  async #release(handle: string): Promise<void> {
    const open = this.#handles.get(handle);
    this.#handles.delete(handle);
    if (!open) throw noHandle();
    if ("close" in open) await open.close();
  }

  #file(handle: string): OpenFile {
    const open = this.#handles.get(handle);
    if (!open || "left" in open) throw noHandle();
    return open;
  }

  #folder(handle: string): OpenFolder {
    const open = this.#handles.get(handle);
    if (!open || !("left" in open)) throw noHandle();
    return open;
  }
}

const noHandle = () => new Failure("failure", "there is nothing open by this name");
