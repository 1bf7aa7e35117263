/** The mounts of this machine, according to the kernel. */
import { readFile } from "node:fs/promises";
import { isInside } from "./host-image.ts";

/** File systems that show the kernel and its devices. */
const KERNEL = /^(proc|sysfs|devtmpfs|devpts|cgroup2?|debugfs|tracefs|securityfs|bpf|configfs|efivarfs|mqueue|pstore)$/;

export interface MountPoint {
  path: string;
  type: string;
}

/** Parses `/proc/self/mountinfo`. The fifth word is the mount point with octal escapes. The type comes after a lone dash. */
export function parseMounts(text: string): MountPoint[] {
  return text.split("\n").flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const place = before.split(" ")[4];
    const type = after.split(" ")[0];
    return place && type
      ? [{ path: place.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8))), type }]
      : [];
  });
}

/** The kernel file system that a folder would show: the folder lies on it, or it is mounted below the folder. */
export async function kernelMountIn(folder: string): Promise<string | undefined> {
  const mounts = parseMounts(await readFile("/proc/self/mountinfo", "utf8"));
  const under = mounts.filter(({ path }) => isInside(folder, path)).reduce<MountPoint | undefined>(longest, undefined);
  const shown = [...(under ? [under] : []), ...mounts.filter(({ path }) => isInside(path, folder))];
  const found = shown.find(({ type }) => KERNEL.test(type));
  return found && `${found.path} (${found.type})`;
}

/** Of two mounts at one place, the later one is on top. */
const longest = (best: MountPoint | undefined, next: MountPoint) =>
  best && best.path.length > next.path.length ? best : next;
