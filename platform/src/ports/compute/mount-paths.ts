/** Where a program may see a volume. */
import { posix } from "node:path";

/** Folders in which the kernel shows itself. */
const KERNEL = ["/proc", "/sys", "/dev"];

/** On most machines these are links into `/usr`; on some they are folders. */
export const SYSTEM_FOLDERS = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/** The path of a `host` image's folder, in which its program starts. */
export const APP = "/app";

/** Folders that a program of a `host` image sees from the machine, from the image or from Millrace. */
export const HOST_RESERVED = ["/usr", "/etc", "/opt", "/node_modules", "/var", APP, ...SYSTEM_FOLDERS];

/** A control character would end an argument of the sandbox builder, and a comma would begin another mount option in Podman. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const UNSAYABLE = /[\0-\x1f\x7f,]/;
const LONGEST_NAME = 255;

/** Removes a slash at the end, doubled slashes and `..` steps. */
export const plainPath = (path: string): string => posix.normalize(path).replace(/(.)\/$/, "$1");

/**
 * Returns why a program cannot see a volume at this path, or undefined if it can. `reserved` lists folders that the driver itself provides.
 */
export function refusedPath(path: string, reserved: readonly string[]): string | undefined {
  const plain = plainPath(path);
  const choose = "choose a folder of its own, such as /workspace";
  if (!posix.isAbsolute(path) || plain === "/")
    return `nothing can be mounted at '${path}', which is no absolute path below '/': ${choose}`;
  if (UNSAYABLE.test(path)) return `nothing can be mounted at a path with a comma or a control character: ${choose}`;
  if (plain.split("/").some((name) => Buffer.byteLength(name) > LONGEST_NAME))
    return `nothing can be mounted at a path with a name of more than ${LONGEST_NAME} bytes: ${choose}`;
  const kernels = KERNEL.find((folder) => isAtOrBelow(plain, folder));
  if (kernels) return `nothing can be mounted at '${path}': ${kernels} is the kernel's; ${choose}`;
  const taken = reserved.find((folder) => isAtOrBelow(plain, folder));
  return (
    taken && `nothing can be mounted at '${path}': programs on the host have the machine's own ${taken}; ${choose}`
  );
}

const isAtOrBelow = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);
