/** Folders that a program sees below another folder that programs can change. */
import { join } from "node:path";
import { StartRefused } from "../../ports/compute/compute.ts";
import type { MountedFolder } from "../../ports/compute/volumes.ts";

const NESTED = ["/bin/sh", join(import.meta.dirname, "nested.sh")] as const;
/** What the program mounts is seen by no one else, and ends with it. */
const OWN_MOUNTS = ["unshare", "--mount", "--propagation", "private"] as const;

interface Nest {
  outer: MountedFolder;
  inner: MountedFolder[];
}

export interface Nested {
  /** What bubblewrap mounts. */
  mounts: MountedFolder[];
  /** Wraps the command that starts bubblewrap. */
  enter(command: readonly string[]): string[];
}

/** `folder` is a place of the instance that only the server reaches. Outer folders come before those below them. */
export function nestedIn(mounts: readonly MountedFolder[], folder: string): Nested {
  const nests: Nest[] = [];
  for (const mount of mounts) {
    const nest = nests.find(({ outer }) => mount.path.startsWith(`${outer.path}/`));
    if (nest) nest.inner.push(mount);
    else nests.push({ outer: mount, inner: [] });
  }
  const placeOf = (nest: Nest) => join(folder, String(nests.indexOf(nest)));
  const full = nests.filter(({ inner }) => inner.length > 0);
  return {
    mounts: nests.map((nest) =>
      full.includes(nest) ? { ...nest.outer, source: join(placeOf(nest), "whole") } : nest.outer,
    ),
    enter(command) {
      if (full.length === 0) return [...command];
      const shown = full.flatMap((nest) => [...NESTED, placeOf(nest), nest.outer.source, ...below(nest)]);
      return [...OWN_MOUNTS, ...shown, ...command];
    },
  };
}

const below = ({ outer, inner }: Nest): string[] => [
  String(inner.length),
  ...inner.flatMap(({ source, path, readOnly }) => [readOnly ? "ro" : "rw", source, path.slice(outer.path.length + 1)]),
];

/** Without root nothing can be mounted before bubblewrap runs, which follows links that a program put in the way. */
export function refuseNested({ mounts }: Nested, asked: readonly MountedFolder[]): void {
  if (mounts.length === asked.length || process.getuid!() === 0) return;
  throw new StartRefused(
    "nothing can be shown below a volume by a server that is not root: run it as root, or leave the volume out",
    {
      reason: "volume-invalid",
    },
  );
}
