/** Row 19: the CPU time of a server for each second in which its endpoints and workers have nothing to do. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { amount, type Line } from "./table.ts";

const fleet = fileURLToPath(new URL("./resting-fleet.ts", import.meta.url));
const ENDPOINTS = 1000;
const FEW_ENDPOINTS = 20;
const SECONDS = 60;
const FEW_SECONDS = 10;

export interface RestingResult {
  endpoints: number;
  workers: number;
  /** The CPU time of each second. */
  cpuMs: number[];
  /** Calls that read from the store. */
  readsPerSecond: number;
}

interface Options {
  folder: string;
  quick: boolean;
  say: (line: string) => void;
}

/** The server runs in a process of its own, so that nothing else is counted. */
export async function measureResting({ folder, quick, say }: Options): Promise<RestingResult> {
  const endpoints = quick ? FEW_ENDPOINTS : ENDPOINTS;
  const given = [fleet, folder, String(endpoints), String(quick ? FEW_SECONDS : SECONDS)];
  const { stdout } = await promisify(execFile)(process.execPath, ["--disable-warning=ExperimentalWarning", ...given]);
  const result: RestingResult = { endpoints, ...JSON.parse(stdout) };
  const { workers, cpuMs, readsPerSecond } = result;
  const shown = `lower quartile ${quartile(cpuMs).toFixed(1)} ms, mean ${mean(cpuMs).toFixed(1)} ms`;
  say(
    `  ${endpoints} endpoints, ${workers} workers that do nothing: ${shown}, ${readsPerSecond.toFixed(1)} reads a second`,
  );
  return result;
}

export const restingLines = ({ endpoints, cpuMs }: RestingResult): Line[] => [
  {
    ...amount("19", `CPU time of a second with ${endpoints} endpoints at rest`, quartile(cpuMs), "ms", 12, 5),
    wall: `mean ${mean(cpuMs).toFixed(1)} ms`,
  },
];

/** Others on the machine can make a second dearer, and never cheaper. */
const quartile = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 4)]!;

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
