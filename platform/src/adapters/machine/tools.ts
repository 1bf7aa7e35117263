/** Finds programs of the machine that the drivers use. */
import { access, constants } from "node:fs/promises";
import { join } from "node:path";

const FOLDERS = ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin"];
/** The environment of tools that this process runs: the usual folders, and none of this process's own variables. */
export const TOOL_ENVIRONMENT = { PATH: FOLDERS.join(":"), LC_ALL: "C" };

/** The path of a program, or undefined. The folders are fixed, so that no variable of the server decides what runs as root. */
export async function find(name: string): Promise<string | undefined> {
  for (const folder of FOLDERS) {
    const file = join(folder, name);
    if (
      await access(file, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return file;
  }
  return undefined;
}
