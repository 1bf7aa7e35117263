/** What the script for Slurm tells the daemons, which here are programs that only stay. */
import { execFile } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { totalmem } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../tests/process.ts";

const run = promisify(execFile);
const SCRIPT = join(import.meta.dirname, "form-slurm.sh");
const STAYS = "#!/bin/sh\n{ sleep 30; :; } &\n";

/** The line of each node in the configuration that the first of two members writes. */
async function nodesFor(variables: Record<string, string>): Promise<string[]> {
  await using folder = await temporaryFolder();
  for (const daemon of ["munged", "slurmctld", "slurmd"]) {
    await writeFile(join(folder.path, daemon), STAYS);
    await chmod(join(folder.path, daemon), 0o755);
  }
  const env = {
    ...{ NODE_RANK: "0", NUM_NODES: "2", NUM_TRAINERS: "1", PRIMARY_ADDR: "10.0.0.2" },
    ...{ MEMBER_ADDRS: "10.0.0.2 10.0.0.3", PATH: `${folder.path}:/usr/sbin:/usr/bin:/sbin:/bin`, ...variables },
  };
  const { stdout } = await run("bwrap", [
    ...["--ro-bind", "/", "/", "--tmpfs", "/etc", "--ro-bind", "/etc/passwd", "/etc/passwd"],
    ...["--tmpfs", "/run", "--tmpfs", "/var", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "--clearenv"],
    ...["--ro-bind", folder.path, folder.path, "--die-with-parent"],
    ...Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]),
    ...["/bin/sh", "-c", `. ${SCRIPT} >/dev/null && grep ^NodeName= /etc/slurm/slurm.conf`],
  ]);
  return stdout.trim().split("\n");
}

test("jobs of Slurm may ask for what each member was given, not for what its machine shows", async () => {
  const share = "CPUs=1 RealMemory=1024 State=UNKNOWN";
  expect(await nodesFor({ MILLRACE_CPU_COUNT: "1.5", MILLRACE_MEM_GB: "1" })).toEqual([
    `NodeName=node-0 NodeAddr=10.0.0.2 ${share}`,
    `NodeName=node-1 NodeAddr=10.0.0.3 ${share}`,
  ]);
});

test("a node of Slurm never has more than its machine, since Slurm would take no jobs there", async () => {
  const [node] = await nodesFor({ MILLRACE_CPU_COUNT: "100000", MILLRACE_MEM_GB: "1000000" });
  expect(Number(/RealMemory=(\d+)/.exec(node!)?.[1])).toBe(Math.floor(totalmem() / 2 ** 20));
  expect(Number(/CPUs=(\d+)/.exec(node!)?.[1])).toBeLessThan(100_000);
});
