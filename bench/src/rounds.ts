/** Interleaved rounds: each runs every stack, with echo at both ends. If echo itself varied too much, the round does not count. */
import type { Round, Source, StackName } from "./figures.ts";
import { echoPhase, type Measure, type Pace, type PhaseName, runPhase } from "./phases.ts";
import type { Stack } from "./stack.ts";

/** Echo at the start and the end of a round may differ by this much. */
const STEADY_WITHIN = 0.2;
/** How many more rounds may run if some were dropped. */
const EXTRA_ROUNDS = 5;

/** On a shared machine the wall clock varies much more than CPU time, so the rule is applied to each separately. */
export interface Rounds {
  all: Round[];
  /** Rounds in which echo was steady by CPU time, and those in which it was steady by wall clock. */
  byCpu: Round[];
  byWall: Round[];
}

export async function runRounds(
  wanted: Source[],
  stacks: Partial<Record<StackName, Stack>>,
  { rounds, pace, say }: { rounds: number; pace: Pace; say: (line: string) => void },
): Promise<Rounds> {
  const result: Rounds = { all: [], byCpu: [], byWall: [] };
  const phases = wanted.filter((source) => source !== "echo");
  for (let number = 1; result.byCpu.length < rounds && number <= rounds + EXTRA_ROUNDS; number++) {
    say(`round ${number}`);
    const round: Round = {};
    const before = await told("echo, start", () => echoPhase(pace), say);
    for (const source of phases) {
      const [name, phase] = source.split("/") as [StackName, PhaseName];
      round[source] = await told(`${name}, ${phase}`, () => runPhase(stacks[name]!, phase, pace), say);
    }
    const after = await told("echo, end", () => echoPhase(pace), say);
    round.echo = mean(before, after);
    result.all.push(round);
    if (isSteady("CPU time", before.perCpuSecond, after.perCpuSecond)) result.byCpu.push(round);
    if (isSteady("the wall clock", before.rate, after.rate)) result.byWall.push(round);
  }
  return result;

  function isSteady(measure: string, before: number, after: number): boolean {
    const difference = Math.abs(before - after) / Math.max(before, after);
    if (difference <= STEADY_WITHIN) return true;
    say(`  does not count by ${measure}: echo differed by ${Math.round(difference * 100)}% between start and end`);
    return false;
  }
}

function mean(a: Measure, b: Measure): Measure {
  const seconds = a.seconds + b.seconds;
  const cpu = a.cpuSeconds + b.cpuSeconds;
  const count = a.count + b.count;
  return { count, seconds, cpuSeconds: cpu, rate: count / seconds, perCpuSecond: count / cpu, latencyMs: a.latencyMs };
}

async function told(name: string, measure: () => Promise<Measure>, say: (line: string) => void): Promise<Measure> {
  const measured = await measure();
  const latency = measured.latencyMs
    ? `, p50 ${measured.latencyMs.p50.toFixed(2)} ms, p99 ${measured.latencyMs.p99.toFixed(2)} ms`
    : "";
  const rates = `${Math.round(measured.rate)}/s, ${Math.round(measured.perCpuSecond)} per CPU-second`;
  say(`  ${name.padEnd(28)} ${rates}${latency}`);
  return measured;
}
