/** Row 16: the time from the request for a Pod to its first line, compared with a bare start of the same program. */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { inDocker } from "./in-docker.ts";
import { startMillrace } from "./millrace.ts";
import { FIRST_LINE, measurePods, type PodStarts } from "./pod-starts.ts";
import { amount, type Line } from "./table.ts";

const PLACES = { host: "on the host", docker: "in Docker" } as const;
/** Milliseconds more than a bare start. */
const ASKED_MS = { host: { most: 70, aim: 40 }, docker: { most: 30, aim: 20 } } as const;

/** Places that could not be measured are left out. */
export type PodsResult = Partial<Record<keyof typeof PLACES, PodStarts>>;

interface PodsOptions {
  folder: string;
  quick: boolean;
  say: (line: string) => void;
}

export async function measurePodStarts(options: PodsOptions): Promise<PodsResult> {
  const host = await measureHost(options);
  const docker = await inDocker<PodStarts>("docker-pods.ts", PLACES.docker, options);
  return { host, ...(docker && { docker }) };
}

async function measureHost({ folder, quick, say }: PodsOptions): Promise<PodStarts> {
  const app = await mkdtemp(join(folder, "pods-"));
  // The data is outside the programs' folder, because no program may see it.
  const data = await mkdtemp(join(folder, "pods-data-"));
  try {
    // Programs run as other users and must be able to open the folder.
    await chmod(app, 0o755);
    await using running = await startMillrace(data, { compute: "host" });
    const program = { image: `host:${app}`, cmd: FIRST_LINE };
    return await measurePods({ name: PLACES.host, running, program, bare: ["sh", "-c", "echo up"], quick, say });
  } finally {
    for (const path of [app, data]) await rm(path, { recursive: true, force: true });
  }
}

export const podLines = (result: PodsResult): Line[] =>
  (Object.keys(PLACES) as (keyof typeof PLACES)[]).flatMap((place) => {
    const starts = result[place];
    if (!starts) return [];
    const { pods, bare } = starts;
    const wall = `p50 ${pods.p50.toFixed(0)} ms, p99 ${pods.p99.toFixed(0)} ms; bare ${bare.p50.toFixed(0)} ms`;
    const name = `Pod created to its first line ${PLACES[place]}, over a bare start`;
    const { most, aim } = ASKED_MS[place];
    return [{ ...amount("16", name, pods.p50 - bare.p50, "ms", most, aim), wall }];
  });
