/** Where a program can see a volume. */
import { posix } from "node:path";

/** What the kernel shows of itself. */
const KERNEL = ["/proc", "/sys", "/dev"];

/** Links into `/usr` on most machines, and folders on some. */
export const SYSTEM_FOLDERS = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/** Where the folder of a `host` image is, and where its program begins. */
export const APP = "/app";

/** What a program of a `host` image sees there is the machine's, the image's or ours. */
export const HOST_RESERVED = ["/usr", "/etc", "/opt", "/node_modules", "/var", APP, ...SYSTEM_FOLDERS];

/** Control characters would end an argument of what builds the sandbox, and a comma begins a further option of a mount in Podman. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const UNSAYABLE = /[\0-\x1f\x7f,]/;
const LONGEST_NAME = 255;

/** Without a slash at its end, doubled slashes and steps back. */
export const plainPath = (path: string): string => posix.normalize(path).replace(/(.)\/$/, "$1");

/** Why a program cannot see a volume at this path; undefined where it can. `reserved`: places that the driver shows itself. */
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
