/** Network links of this process's own namespace. */
import { readFileSync } from "node:fs";

/**
 * Reads the kernel's list, at once: the thread pool would take longer than the kernel. `/sys/class/net` shows the links of the namespace
 * that mounted `/sys`, which may be another one.
 */
export async function linkNames(): Promise<Set<string>> {
  return new Set(namesIn(readFileSync("/proc/self/net/dev", "utf8")));
}

export const isLink = async (name: string) => (await linkNames()).has(name);

/** Two lines of titles come first. Each further line begins with a name and a colon. */
export const namesIn = (table: string): string[] =>
  table.split("\n").flatMap((line) => /^\s*([^\s:|]+):/.exec(line)?.[1] ?? []);

/** The hardware address in the output of `ip -o link show` for one link. */
export const hardwareAddressIn = (text: string): string | undefined => /link\/ether ([0-9a-f:]{17})/.exec(text)?.[1];
