/** Reads from the process's variables where the server is and who this worker is. */

export interface Station {
  /** The URL up to and including the endpoint: `http://host:port/v2/<endpoint>`. */
  endpointUrl: string;
  worker: string;
  key: string;
  pingIntervalMs: number;
}

type Variables = Record<string, string | undefined>;

const PING_INTERVAL_MS = 10_000;
const SHORTEST_PING_INTERVAL_MS = 1000;

/** Returns undefined if no variable names a server. The worker then runs a local test. Our own names take precedence. */
export function placeFrom(variables: Variables): Station | undefined {
  const found = ownPlace(variables) ?? establishedPlace(variables);
  if (!found) return undefined;
  const given = Number(variables.MILLRACE_PING_INTERVAL ?? variables.RUNPOD_PING_INTERVAL ?? PING_INTERVAL_MS);
  const pingIntervalMs = given >= SHORTEST_PING_INTERVAL_MS ? given : PING_INTERVAL_MS;
  return { ...found, pingIntervalMs };
}

type Found = Omit<Station, "pingIntervalMs">;

function ownPlace(variables: Variables): Found | undefined {
  const url = variables.MILLRACE_URL;
  if (!url) return undefined;
  const endpoint = required(variables, "MILLRACE_ENDPOINT_ID");
  return {
    endpointUrl: `${url.replace(/\/+$/, "")}/v2/${endpoint}`,
    worker: required(variables, "MILLRACE_WORKER_ID"),
    key: required(variables, "MILLRACE_WORKER_KEY"),
  };
}

/** Reads `{base}/v2/{endpoint}/job-take/{worker}?…`, the variable with which existing worker images are started. */
function establishedPlace(variables: Variables): Found | undefined {
  const takeUrl = variables.RUNPOD_WEBHOOK_GET_JOB;
  if (!takeUrl) return undefined;
  const [, endpointUrl, named] = /^(.+)\/job-take\/([^/?&]+)/.exec(takeUrl) ?? [];
  if (!endpointUrl || !named)
    throw new Error("RUNPOD_WEBHOOK_GET_JOB must look like <url>/v2/<endpoint>/job-take/<worker>");
  const worker = named === "$ID" || named === "$RUNPOD_POD_ID" ? required(variables, "RUNPOD_POD_ID") : named;
  return { endpointUrl, worker, key: required(variables, "RUNPOD_AI_API_KEY") };
}

function required(variables: Variables, name: string): string {
  const value = variables[name];
  if (!value)
    throw new Error(`${name} is not set; \`millrace worker-env <endpoint>\` prints all variables of a worker`);
  return value;
}

/** The text after `--test-input`, as `--test-input X` or `--test-input=X`, also with an underscore. */
export function testInputIn(args: readonly string[]): string | undefined {
  for (const [i, arg] of args.entries()) {
    const [, joined] = /^--test[-_]input(?:=(.*))?$/s.exec(arg) ?? [];
    if (joined !== undefined) return joined;
    if (/^--test[-_]input$/.test(arg)) return args[i + 1] ?? "";
  }
  return undefined;
}
