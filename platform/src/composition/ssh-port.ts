/** Opens the port for SSH. */
import { join } from "node:path";
import type { Log } from "../kernel/log.ts";
import { ifNotThere } from "../kernel/not-there.ts";
import { readPrivate, replacePrivately } from "../kernel/private-file.ts";
import type { Settings } from "../settings/settings.ts";
import type { SshListener } from "../surfaces/ssh/listener.ts";

/** This is close to the API's port. */
const USUAL_PORT = 7422;
const ANY_PORT = 0;

/**
 * Never fails, because a taken port must not stop the server. Without a setting it tries the usual port and then any, so that several
 * servers fit on one machine. The port is stored, because clients know it.
 */
export async function openSsh(settings: Settings, ssh: SshListener, log: Log): Promise<void> {
  const { sshPort, host } = settings;
  if (sshPort === "off") return;
  const file = join(settings.data, "ssh-port");
  try {
    const last = Number(await readPrivate(file).catch(ifNotThere(String(USUAL_PORT))));
    const port = await ssh.open(host, sshPort === "auto" ? [last, ANY_PORT] : [sshPort]);
    if (sshPort === "auto" && port !== last) await replacePrivately(file, `${port}\n`);
    log.info({ host, port }, "Pods are reached by SSH");
  } catch (error) {
    log.error({ err: error, host, port: sshPort }, "Pods are not reached by SSH: it cannot be listened for there");
  }
}
