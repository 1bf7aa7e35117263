/** Network links of the namespace that this process is in. */
import { readFile } from "node:fs/promises";

/** Asked of the kernel: `/sys/class/net` shows the links of whoever mounted `/sys`, which may be another namespace. */
export async function linkNames(): Promise<Set<string>> {
  return new Set(namesIn(await readFile("/proc/self/net/dev", "utf8")));
}

export const isLink = async (name: string) => (await linkNames()).has(name);

/** Below two lines of titles, each line begins with a name and a colon. */
export const namesIn = (table: string): string[] =>
  table.split("\n").flatMap((line) => /^\s*([^\s:|]+):/.exec(line)?.[1] ?? []);

/** The hardware address in what `ip -o link show` prints of one link. */
export const hardwareAddressIn = (text: string): string | undefined => /link\/ether ([0-9a-f:]{17})/.exec(text)?.[1];
