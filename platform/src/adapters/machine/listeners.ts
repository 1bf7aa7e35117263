/** Who listens on which port, as the kernel tells it. */
import { readProcess } from "./processes.ts";

interface Listener {
  host: string;
  port: number;
  /** Names the socket among the descriptors of a process. */
  inode: string;
}

const LISTENING = "0A";

/** Sockets that listen, from the text of `/proc/net/tcp` or `tcp6`. Addresses there are hexadecimal, in words of four bytes turned round. */
export function parseListeners(text: string): Listener[] {
  return text.split("\n").flatMap((line) => {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    if (state !== LISTENING || inode === undefined) return [];
    const [address, port] = local!.split(":");
    return [{ host: hostOf(address!), port: Number.parseInt(port!, 16), inode }];
  });
}

/** The address at which a listener is reached from this machine: its own, or loopback when it takes any. */
function hostOf(hex: string): string {
  const bytes = Buffer.from(hex, "hex");
  bytes.swap32();
  if (bytes.length === 4) return bytes.every((byte) => byte === 0) ? "127.0.0.1" : bytes.join(".");
  if (bytes.every((byte) => byte === 0)) return "::1";
  return Array.from({ length: 8 }, (_, part) => bytes.readUInt16BE(part * 2).toString(16)).join(":");
}

/** Everything that listens in the network of a process; `self` is this one. */
export async function listenersSeenBy(pid: number | "self"): Promise<Listener[]> {
  const texts = await Promise.all(["net/tcp", "net/tcp6"].map((name) => readProcess(pid, name)));
  return texts.flatMap((text) => parseListeners(text ?? ""));
}
