/** Row 20: what a verb of the command line costs, compared with a Node that does nothing. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { median } from "./figures.ts";
import { startMillrace } from "./millrace.ts";
import { amount, type Line } from "./table.ts";

const launcher = fileURLToPath(new URL("../../millrace", import.meta.url));
const VERBS = [["ps"], ["pods", "list"]];
const ROUNDS = 10;
/** Linux counts the time of ended children in hundredths of a second, so several are counted together. */
const AT_A_TIME = 5;
const TICKS_PER_SECOND = 100;

export interface CliVerb {
  verb: string;
  /** CPU milliseconds of one call in each round, and of `node -e 0` beside it. */
  verbMs: number[];
  nodeMs: number[];
}

interface Options {
  folder: string;
  quick: boolean;
  say: (line: string) => void;
}

export async function measureCli({ folder, quick, say }: Options): Promise<CliVerb[]> {
  const data = await mkdtemp(join(folder, "cli-"));
  try {
    await using running = await startMillrace(data);
    const { port, headers } = running.submit;
    const env = {
      PATH: process.env.PATH,
      HOME: data,
      MILLRACE_URL: `http://127.0.0.1:${port}`,
      MILLRACE_API_KEY: headers.authorization!.replace("Bearer ", ""),
    };
    const measured = VERBS.map((verb): CliVerb => ({ verb: verb.join(" "), verbMs: [], nodeMs: [] }));
    // The first call of a verb compiles its code, which is kept.
    for (const verb of VERBS) spent(launcher, verb, env);
    for (let round = 0; round < (quick ? 1 : ROUNDS); round++) {
      for (const [place, verb] of VERBS.entries()) {
        measured[place]!.verbMs.push(spent(launcher, verb, env));
        measured[place]!.nodeMs.push(spent(process.execPath, ["-e", "0"], env));
      }
    }
    for (const { verb, verbMs, nodeMs } of measured)
      say(
        `  millrace ${verb}: ${median(verbMs).toFixed(0)} ms of CPU time, node -e 0: ${median(nodeMs).toFixed(0)} ms`,
      );
    return measured;
  } finally {
    await rm(data, { recursive: true, force: true });
  }
}

/** CPU milliseconds of one call. */
function spent(command: string, args: readonly string[], env: NodeJS.ProcessEnv): number {
  const before = childTicks();
  for (let i = 0; i < AT_A_TIME; i++) execFileSync(command, args, { env, stdio: ["ignore", "ignore", "inherit"] });
  return ((childTicks() - before) * 1000) / TICKS_PER_SECOND / AT_A_TIME;
}

/** The time of this process's ended children and of all that those waited for. */
function childTicks(): number {
  const text = readFileSync("/proc/self/stat", "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return Number(fields[13]) + Number(fields[14]);
}

export const cliLines = (measured: CliVerb[]): Line[] =>
  measured.map(({ verb, verbMs, nodeMs }) => {
    const times = median(verbMs.map((ms, round) => ms / nodeMs[round]!));
    const line = amount("20", `millrace ${verb} against node -e 0`, times, "x", 4, 2.5);
    return { ...line, wall: `${median(verbMs).toFixed(0)} and ${median(nodeMs).toFixed(0)} ms of CPU time` };
  });
