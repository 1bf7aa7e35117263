/** Tools that no single operation is: run a job and wait for it, read a log, and explain a reason. */
import { reasonTables } from "@millrace/platform/kernel/reason.ts";
import { wrongUse } from "../failure.ts";
import { textIn } from "./derived-tools.ts";
import type { Around, Tool, ToolInput } from "./tool.ts";

const RUN = { method: "POST", path: "/v2/{endpoint_id}/run" } as const;
const STATUS = { method: "GET", path: "/v2/{endpoint_id}/status-sync/{job_id}" } as const;
const LONGEST_WAIT_S = 280;
const DEFAULT_WAIT_S = 60;
const MOST_LINES = 1000;
const DEFAULT_LINES = 100;
/** Lines that are kept come at once. After this silence there are no more of them. */
const QUIET_MS = 1001;

const input = (properties: object, required: string[] = []): ToolInput => ({
  type: "object",
  properties: properties as ToolInput["properties"],
  required,
});

interface Job {
  id: string;
  status: string;
}

const runJob: Tool = {
  name: "run_job",
  title: "Run a job and wait for it",
  description:
    "Submits a job to a queue-based endpoint and waits for its result. A job that still waits then is returned with its waitReason; " +
    "the job continues: call getJobStatus later.",
  inputSchema: input(
    {
      endpointId: { type: "string", maxLength: 512 },
      input: { type: "object", description: "What the handler gets." },
      waitSeconds: { type: "integer", minimum: 1, maximum: LONGEST_WAIT_S, default: DEFAULT_WAIT_S },
    },
    ["endpointId", "input"],
  ),
  isReading: false,
  isDestroying: false,
  async call(around, given) {
    const params = { endpoint_id: textIn(given, "endpointId") };
    const { id } = (await around.client.call(RUN, { params, body: { input: given.input ?? {} } })) as Job;
    const wait = numberIn(given, "waitSeconds", { least: 1, most: LONGEST_WAIT_S, standard: DEFAULT_WAIT_S });
    const ask = { params: { ...params, job_id: id }, query: { wait: wait * 1000 } };
    return around.client.call(STATUS, ask, { silenceMs: (wait + 30) * 1000 });
  },
};

const readLogs: Tool = {
  name: "read_logs",
  title: "Read the last lines of a log",
  description:
    "The last lines that a Pod, or all workers of an endpoint, have written, with what Millrace says about them. Give podId or endpointId.",
  inputSchema: input(
    {
      podId: { type: "string", maxLength: 512 },
      endpointId: { type: "string", maxLength: 512 },
      lines: { type: "integer", minimum: 1, maximum: MOST_LINES, default: DEFAULT_LINES },
    },
    [],
  ),
  isReading: true,
  isDestroying: false,
  async call(around, given) {
    const isPod = given.podId !== undefined;
    const id = encodeURIComponent(textIn(given, isPod ? "podId" : "endpointId"));
    const lines = numberIn(given, "lines", { least: 1, most: MOST_LINES, standard: DEFAULT_LINES });
    const found = await keptLines(around, `/v2/${isPod ? "pods" : "serverless"}/${id}/logs?tail=${lines}`, lines);
    return found.length > 0 ? found.join("\n") : "Nothing was written yet.";
  },
};

async function keptLines({ client, clock }: Around, path: string, most: number): Promise<string[]> {
  const stop = new AbortController();
  const found: string[] = [];
  let quiet = clock.after(QUIET_MS, () => stop.abort());
  try {
    for await (const { data } of client.events(path, { signal: stop.signal })) {
      found.push(lineOf(data));
      if (found.length === most) break;
      quiet.cancel();
      quiet = clock.after(QUIET_MS, () => stop.abort());
    }
  } finally {
    quiet.cancel();
  }
  return found;
}

function lineOf(data: unknown): string {
  const { ts, source, line, workerId } = data as { ts: string; source: string; line: string; workerId?: string | null };
  return [ts, workerId ?? undefined, source === "system" ? "millrace:" : undefined, line].filter(Boolean).join(" ");
}

const explainReason: Tool = {
  name: "explain_reason",
  title: "Explain a reason code",
  description:
    "What a reason code of a record or a refusal means, and what to do about it. Without a code, all codes are listed.",
  inputSchema: input({ code: { type: "string", maxLength: 100 } }),
  isReading: true,
  isDestroying: false,
  async call(_around, { code }) {
    const tables: Record<string, Record<string, { means: string; remedy: string }>> = reasonTables;
    if (code === undefined)
      return Object.fromEntries(Object.entries(tables).map(([of, all]) => [of, Object.keys(all)]));
    const table = Object.values(tables).find((all) => Object.hasOwn(all, String(code)));
    if (!table)
      throw wrongUse(
        `There is no reason code '${String(code).slice(0, 100)}'. Call explain_reason without a code for all of them.`,
      );
    const { means, remedy } = table[String(code)]!;
    return { code, means, remedy };
  },
};

interface Bounds {
  least: number;
  most: number;
  standard: number;
}

function numberIn(given: Record<string, unknown>, name: string, { least, most, standard }: Bounds): number {
  const value = given[name] ?? standard;
  if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
  throw wrongUse(`'${name}' must be a whole number from ${least} to ${most}.`);
}

export const ownTools: readonly Tool[] = [runJob, readLogs, explainReason];
