/** Which sockets listen on which port, according to the kernel. */
import { readProcess } from "./processes.ts";

interface Listener {
  host: string;
  port: number;
  /** Identifies the socket among the descriptors of a process. */
  inode: string;
}

const LISTENING = "0A";

/**
 * Listening sockets, from the text of `/proc/net/tcp` or `tcp6`. Addresses there are hexadecimal, in words of four bytes in reversed order.
 */
export function parseListeners(text: string): Listener[] {
  return text.split("\n").flatMap((line) => {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    if (state !== LISTENING || inode === undefined) return [];
    const [address, port] = local!.split(":");
    return [{ host: hostOf(address!), port: Number.parseInt(port!, 16), inode }];
  });
}

/** The address that reaches a listener from this machine: its own, or loopback when it listens on all addresses. */
function hostOf(hex: string): string {
  const bytes = Buffer.from(hex, "hex");
  bytes.swap32();
  if (bytes.length === 4) return bytes.every((byte) => byte === 0) ? "127.0.0.1" : bytes.join(".");
  if (bytes.every((byte) => byte === 0)) return "::1";
  return Array.from({ length: 8 }, (_, part) => bytes.readUInt16BE(part * 2).toString(16)).join(":");
}

/** All listening sockets in the network of a process; `self` is this one. */
export async function listenersSeenBy(pid: number | "self"): Promise<Listener[]> {
  const texts = await Promise.all(["net/tcp", "net/tcp6"].map((name) => readProcess(pid, name)));
  return texts.flatMap((text) => parseListeners(text ?? ""));
}
