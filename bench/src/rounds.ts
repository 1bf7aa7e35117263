/** Interleaved rounds: every stack in each, echo at both ends, and a round in which echo itself wavered is dropped. */
import type { Round, Source, StackName } from "./figures.ts";
import { echoPhase, type Measure, type Pace, type PhaseName, runPhase } from "./phases.ts";
import type { Stack } from "./stack.ts";

/** Echo at the start and the end of a round may differ by this much. */
const STEADY_WITHIN = 0.2;
/** Rounds beyond those asked for, when some were dropped. */
const EXTRA_ROUNDS = 5;

export interface Rounds {
  kept: Round[];
  dropped: { round: Round; why: string }[];
}

export async function runRounds(
  wanted: Source[],
  stacks: Partial<Record<StackName, Stack>>,
  { rounds, pace, say }: { rounds: number; pace: Pace; say: (line: string) => void },
): Promise<Rounds> {
  const result: Rounds = { kept: [], dropped: [] };
  const phases = wanted.filter((source) => source !== "echo");
  for (let number = 1; result.kept.length < rounds && number <= rounds + EXTRA_ROUNDS; number++) {
    say(`round ${number}`);
    const round: Round = {};
    const before = await told("echo, start", () => echoPhase(pace), say);
    for (const source of phases) {
      const [name, phase] = source.split("/") as [StackName, PhaseName];
      round[source] = await told(`${name}, ${phase}`, () => runPhase(stacks[name]!, phase, pace), say);
    }
    const after = await told("echo, end", () => echoPhase(pace), say);
    round.echo = mean(before, after);
    const difference = Math.abs(before.rate - after.rate) / Math.max(before.rate, after.rate);
    if (difference <= STEADY_WITHIN) result.kept.push(round);
    else {
      const why = `echo differed by ${Math.round(difference * 100)}% between start and end`;
      result.dropped.push({ round, why });
      say(`round ${number} dropped: ${why}`);
    }
  }
  return result;
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
