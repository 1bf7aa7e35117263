/** A Pod in a container, reached with OpenSSH's own programs. */
import { readFile } from "node:fs/promises";
import { inject, test } from "vitest";
import { TEST_IMAGE } from "./real-docker.ts";
import { walkBySsh } from "./ssh-walk.ts";
import { serverPlace } from "./worker-place.ts";

const PROGRAM = new URL("./fixtures/pod-program.mjs", import.meta.url);

test("ssh, scp, sftp, ssh -L and ssh -D reach a Pod in a container whose image has BusyBox alone", async ({
  onTestFailed,
}) => {
  const program = { image: TEST_IMAGE, cmd: ["--input-type=module", "--eval", await readFile(PROGRAM, "utf8")] };
  const env = { MILLRACE_DOCKER: inject("dockerSocket") };
  await using at = await serverPlace({ program, env, onFailure: onTestFailed });
  await walkBySsh(at, program);
});
