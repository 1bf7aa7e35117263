/** Runs a measurement next to its own Docker engine, in its own namespaces, so that it cannot disturb another engine on this machine. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PROGRAMS = ["dockerd", "docker", "busybox", "unshare", "ip"];

interface Options {
  folder: string;
  quick: boolean;
  say: (line: string) => void;
}

/** Returns what this program measured. If there can be no engine, it says why and returns undefined. Everything it started ends with it. */
export async function inDocker<T>(file: string, name: string, { folder, quick, say }: Options): Promise<T | undefined> {
  const missing = await whatIsMissing();
  if (missing) {
    say(`  ${name}: not measured, ${missing}`);
    return undefined;
  }
  const result = join(folder, `${file}.json`);
  const program = fileURLToPath(new URL(`./${file}`, import.meta.url));
  const settings = JSON.stringify({ name, folder, quick, result });
  // The shell stays as the first process, which adopts and reaps orphans.
  const script = 'ip link set lo up; "$@"; exit $?';
  const child = spawn(
    "unshare",
    [
      ...["--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"],
      ...["bash", "-c", script, "bash", process.execPath, ...process.execArgv, program, settings],
    ],
    { stdio: "inherit", env: { ...process.env, MILLRACE_TEST_NAMESPACE: "1" } },
  );
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`what was measured ${name} ended with ${code}`);
  return JSON.parse(await readFile(result, "utf8")) as T;
}

async function whatIsMissing(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "since only root can start an engine of its own";
  for (const program of PROGRAMS) {
    const [code] = await once(spawn("sh", ["-c", `command -v ${program}`], { stdio: "ignore" }), "exit");
    if (code !== 0) return `since there is no ${program}`;
  }
  return undefined;
}
