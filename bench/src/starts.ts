/** Row 14: how long a job waits for its handler, with workers on the host and in containers. */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { plainLibrary } from "../../platform/src/adapters/host/library.ts";
import { inDocker } from "./in-docker.ts";
import { startMillrace } from "./millrace.ts";
import { bareProgram, KINDS, type Kind, measurePlace, type Starts, workerProgram } from "./start-waits.ts";
import { amount, type Line } from "./table.ts";

const PLACES = { host: "on the host", docker: "in Docker" } as const;

/** Places that could not be measured are left out. */
export type StartsResult = Partial<Record<keyof typeof PLACES, Starts>>;

interface StartsOptions {
  folder: string;
  quick: boolean;
  say: (line: string) => void;
}

/** The most that is allowed and the aim. For a cold start, in addition to a bare start of the same program. */
const ASKED_MS: Record<Kind, { most: number; aim: number }> = {
  warm: { most: 2.2, aim: 1.5 },
  frozen: { most: 7, aim: 5 },
  cold: { most: 50, aim: 30 },
};

export async function measureStarts(options: StartsOptions): Promise<StartsResult> {
  const host = await measureHost(options);
  const docker = await inDocker<Starts>("docker-starts.ts", PLACES.docker, options);
  return { host, ...(docker && { docker }) };
}

async function measureHost({ folder, quick, say }: StartsOptions): Promise<Starts> {
  const app = await mkdtemp(join(folder, "starts-"));
  // The data is outside the programs' folder, because no program may see it.
  const data = await mkdtemp(join(folder, "starts-data-"));
  try {
    await writeFile(join(app, "worker.mjs"), workerProgram("millrace-worker"), { mode: 0o644 });
    // Programs run as other users and must be able to open the folder.
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
