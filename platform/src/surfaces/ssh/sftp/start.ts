/** What is run in a Pod when files are to be transferred: the image's own server for that, or a shell that does as it is told. */
import type { ExecSpec } from "../../../ports/compute/execution.ts";
import type { Bytes } from "./bytes.ts";

/** Where distributions have it. */
const SERVERS = ["openssh", "ssh", ""].flatMap((folder) =>
  ["/usr/lib", "/usr/libexec", "/usr/local/lib", "/usr/local/libexec"].map((root) =>
    [root, folder, "sftp-server"].filter((part) => part !== "").join("/"),
  ),
);

/** Each says who it is, and a newline. */
const OWN_SERVER = "S";
const SHELL = "A";

const SCRIPT = `for p in ${SERVERS.join(" ")}; do [ -x "$p" ] && echo ${OWN_SERVER} && exec "$p"; done; echo ${SHELL}; exec sh`;

export const TRANSFER: ExecSpec = { cmd: ["sh", "-c", SCRIPT] };

/** Undefined when it is neither: without a shell there is nothing in the image that could be asked. */
export async function whoServes(output: Bytes): Promise<"own server" | "shell" | undefined> {
  const said = (await output.take(2)).toString();
  if (said === `${OWN_SERVER}\n`) return "own server";
  return said === `${SHELL}\n` ? "shell" : undefined;
}
