/** Row 14: how long a job waits for its handler, with workers on the host and in containers. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { plainLibrary } from "../../platform/src/adapters/host/library.ts";
import { startMillrace } from "./millrace.ts";
import { bareProgram, KINDS, type Kind, measurePlace, type Starts, workerProgram } from "./start-waits.ts";
import { amount, type Line } from "./table.ts";

const PLACES = { host: "on the host", docker: "in Docker" } as const;

/** What could not be measured is left out. */
export type StartsResult = Partial<Record<keyof typeof PLACES, Starts>>;

interface StartsOptions {
  folder: string;
  quick: boolean;
  say: (line: string) => void;
}

/** The most that is allowed, and the aim; of a cold start, beyond a bare start of the same program. */
const ASKED_MS: Record<Kind, { most: number; aim: number }> = {
  warm: { most: 3, aim: 1.5 },
  frozen: { most: 15, aim: 5 },
  cold: { most: 60, aim: 30 },
};
const DOCKER_PROGRAMS = ["dockerd", "docker", "busybox", "unshare", "ip"];

export async function measureStarts(options: StartsOptions): Promise<StartsResult> {
  const host = await measureHost(options);
  const docker = await measureDocker(options);
  return { host, ...(docker && { docker }) };
}

async function measureHost({ folder, quick, say }: StartsOptions): Promise<Starts> {
  const app = await mkdtemp(join(folder, "starts-"));
  // Not in the programs' folder: none may see the server's data.
  const data = await mkdtemp(join(folder, "starts-data-"));
  try {
    await writeFile(join(app, "worker.mjs"), workerProgram("millrace-worker"), { mode: 0o644 });
    // Programs run as users of their own, and must find the folder.
    await chmod(app, 0o755);
    const library = await plainLibrary(fileURLToPath(new URL("../../worker", import.meta.url)), app);
    await using running = await startMillrace(data, { compute: "host" });
    return await measurePlace({
      name: PLACES.host,
      running,
      program: { image: `host:${app}`, cmd: ["node", "worker.mjs"] },
      bare: [process.execPath, "--input-type=module", "--eval", bareProgram(join(library, "src/main.js"))],
      quick,
      say,
    });
  } finally {
    for (const path of [app, data]) await rm(path, { recursive: true, force: true });
  }
}

/**
 * In namespaces of its own, as the tests of the Docker driver: its engine cannot disturb another one of this machine, and
 * everything it started ends with it.
 */
async function measureDocker({ folder, quick, say }: StartsOptions): Promise<Starts | undefined> {
  const missing = await whatDockerLacks();
  if (missing) {
    say(`  ${PLACES.docker}: not measured, ${missing}`);
    return undefined;
  }
  const result = join(folder, "docker-starts.json");
  const program = fileURLToPath(new URL("./docker-starts.ts", import.meta.url));
  const settings = JSON.stringify({ name: PLACES.docker, folder, quick, result });
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
  if (code !== 0) throw new Error(`the starts in Docker ended with ${code}`);
  return JSON.parse(await readFile(result, "utf8")) as Starts;
}

async function whatDockerLacks(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "since only root can start an engine of its own";
  for (const program of DOCKER_PROGRAMS) {
    const [code] = await once(spawn("sh", ["-c", `command -v ${program}`], { stdio: "ignore" }), "exit");
    if (code !== 0) return `since there is no ${program}`;
  }
  return undefined;
}

export const startLines = (result: StartsResult): Line[] =>
  (Object.keys(PLACES) as (keyof typeof PLACES)[]).flatMap((place) => linesOf(PLACES[place], result[place]));

function linesOf(place: string, starts: Starts | undefined): Line[] {
  if (!starts) return [];
  return KINDS.flatMap(({ kind, name }): Line[] => {
    const measured = starts.waits[kind];
    if (!measured) return [];
    const { p50, p99 } = measured;
    const bare = kind === "cold" ? starts.bare.p50 : 0;
    const { most, aim } = ASKED_MS[kind];
    const line = amount("14", `submit to handler ${place}, ${name}`, p50, "ms", bare + most, bare + aim);
    return [{ ...line, measured: "", wall: `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms` }];
  });
}
