/** A Pod on the host, reached with OpenSSH's own programs. */
import { chmod, copyFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "vitest";
import { temporaryFolder } from "./process.ts";
import { walkBySsh } from "./ssh-walk.ts";
import { serverPlace } from "./worker-place.ts";

const PROGRAM = new URL("./fixtures/pod-program.mjs", import.meta.url);

test("ssh, scp, sftp, ssh -L and ssh -D reach a Pod on the host", async ({ onTestFailed }) => {
  await using app = await temporaryFolder();
  await copyFile(PROGRAM, join(app.path, "pod.mjs"));
  await chmod(app.path, 0o755);
  const program = { image: `host:${app.path}`, cmd: ["node", "pod.mjs"] };
  await using at = await serverPlace({ program, onFailure: onTestFailed });
  await walkBySsh(at, program);
});
