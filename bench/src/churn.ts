/** The churn: runs long at half the peak rate with expiring results, to see that memory, disk and latency stay flat. */
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { startProgram } from "./child.ts";
import { startMillrace } from "./millrace.ts";
import { CONNECTIONS, type Pace, runPhase } from "./phases.ts";
import { residentBytes } from "./process-tree.ts";
import type { Stack } from "./stack.ts";
import type { LoadReport } from "./workload.ts";

export interface ChurnSample {
  second: number;
  rate: number;
  /** Requests that were due and not sent yet. */
  late: number;
  residentMb: number;
  diskMb: number;
  p50: number;
  p99: number;
}

const INTERVAL_S = 10;

export async function measureChurn(
  stack: Stack,
  { minutes, pace, say }: { minutes: number; pace: Pace; say: (line: string) => void },
): Promise<{ peak: number; samples: ChurnSample[] }> {
  const { rate: peak } = await runPhase(stack, "runsync-64", pace);
  say(`churn: ${minutes} minutes of runsync at half of ${Math.round(peak)}/s, results kept for a minute`);
  const folder = await mkdtemp(join(pace.folder, "churn-"));
  const samples: ChurnSample[] = [];
  try {
    await using running = await startMillrace(folder);
    await running.startWorker("ours");
    const settings = { target: running.runsync, connections: CONNECTIONS, warmupMs: 0, measureMs: minutes * 60_000 };
    await using generator = await startProgram("generator.ts", { ...settings, rate: peak / 2 });
    generator.send("go");
    await generator.message("measuring", 10_000);
    for (let second = INTERVAL_S; second < minutes * 60; second += INTERVAL_S) {
      const { rate, late, latencyMs } = await generator.message<
        { rate: number; late: number } & Pick<LoadReport, "latencyMs">
      >("interval", 2 * INTERVAL_S * 1000);
      const sample = {
        second,
        rate,
        late,
        residentMb: residentBytes([running.server.pid]) / 1e6,
        diskMb: (await bytesUnder(folder)) / 1e6,
        p50: latencyMs.p50,
        p99: latencyMs.p99,
      };
      samples.push(sample);
      say(
        `  ${String(second).padStart(4)} s  ${Math.round(rate)}/s  memory ${Math.round(sample.residentMb)} MB  ` +
          `disk ${Math.round(sample.diskMb)} MB  p50 ${sample.p50.toFixed(2)} ms  p99 ${sample.p99.toFixed(2)} ms`,
      );
    }
    const { report } = await generator.message<{ report: LoadReport }>("done", 60_000);
    if (report.refused > 0) throw new Error(`${report.refused} answers were no success, such as: ${report.example}`);
    const { completed, failed } = await running.counts();
    if (completed !== report.accepted || failed > 0)
      throw new Error(`${report.accepted} were accepted, but ${completed} completed and ${failed} failed`);
    return { peak, samples };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function bytesUnder(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true });
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
