/** Starts a file transfer in a Pod: with the image's own SFTP server, or with a shell that takes commands. */
import type { ExecSpec } from "../../../ports/compute/execution.ts";
import type { Bytes } from "./bytes.ts";

/** The paths where distributions install it. */
const SERVERS = ["openssh", "ssh", ""].flatMap((folder) =>
  ["/usr/lib", "/usr/libexec", "/usr/local/lib", "/usr/local/libexec"].map((root) =>
    [root, folder, "sftp-server"].filter((part) => part !== "").join("/"),
  ),
);

/** Each announces itself with its letter and a newline. */
const OWN_SERVER = "S";
const SHELL = "A";

const SCRIPT = `for p in ${SERVERS.join(" ")}; do [ -x "$p" ] && echo ${OWN_SERVER} && exec "$p"; done; echo ${SHELL}; exec sh`;

export const TRANSFER: ExecSpec = { cmd: ["sh", "-c", SCRIPT] };

/** Undefined if neither announces itself. Then the image has no shell, and nothing in it can serve files. */
export async function whoServes(output: Bytes): Promise<"own server" | "shell" | undefined> {
  const said = (await output.take(2)).toString();
  if (said === `${OWN_SERVER}\n`) return "own server";
  return said === `${SHELL}\n` ? "shell" : undefined;
}
