/** Programs of the machine that the driver uses. */
import { access, constants } from "node:fs/promises";
import { join } from "node:path";

const FOLDERS = ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin"];
/** For tools that this process runs: what they find beside themselves, and nothing of this process's own variables. */
export const TOOL_ENVIRONMENT = { PATH: FOLDERS.join(":"), LC_ALL: "C" };

/** Where a program is, or undefined. The folders are fixed: a variable of the server's does not choose what runs as root. */
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
