/** Row 17: requests to the HTTP port of a Pod on the host, through Millrace's proxy. */
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as stay } from "node:timers/promises";
import { startMillrace } from "./millrace.ts";
import type { Running, Stack } from "./stack.ts";

const PORT = 8080;
/** Does what echo does, and is found by this file name. */
const PROGRAM = "pod-echo.mjs";
const ECHO = `import { createServer } from "node:http";
createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = JSON.stringify(JSON.parse(Buffer.concat(chunks).toString()));
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    response.end(body);
  });
}).listen(${PORT}, "0.0.0.0");
`;
const LOOK_MS = 100;
const TRIES = 100;

export function podStack({ nodeOptions }: { nodeOptions?: string | undefined } = {}): Stack {
  return {
    name: "Millrace's proxy to a Pod",
    notes: ["Millrace's proxy to a Pod: key checked, Pod found, a program in a sandbox and a network of its own"],
    start: (folder) => start(folder, nodeOptions),
  };
}

async function start(folder: string, nodeOptions: string | undefined): Promise<Running> {
  const app = await mkdtemp(join(folder, "app-"));
  const data = await mkdtemp(join(folder, "data-"));
  await writeFile(join(app, PROGRAM), ECHO);
  // Programs run as other users and must be able to open the folder.
  for (const path of [folder, app]) await chmod(path, 0o755);
  const millrace = await startMillrace(data, { compute: "host", ...(nodeOptions && { nodeOptions }) });
  const { port, headers } = millrace.submit;
  const key = headers.authorization!.replace("Bearer ", "");
  const pod = await createPod(`http://127.0.0.1:${port}`, headers, app);
  const path = `/pods/${pod}/ports/${PORT}/echo`;
  const target = { port, path, headers: { "x-millrace-key": key }, expects: '"prompt"' };
  await answers(`http://127.0.0.1:${port}${path}`, target.headers);
  const programs = await programsNamed(PROGRAM);
  return {
    submit: target,
    runsync: target,
    pids: () => [...millrace.pids(), ...programs],
    startWorker: async () => {},
    counts: async () => ({ waiting: 0, completed: 0, failed: 0 }),
    async [Symbol.asyncDispose]() {
      await fetch(`http://127.0.0.1:${port}/v2/pods/${pod}`, { method: "DELETE", headers });
      for (let tries = 0; tries < TRIES && (await programsNamed(PROGRAM)).length > 0; tries++) await stay(LOOK_MS);
      await millrace[Symbol.asyncDispose]();
      await rm(app, { recursive: true, force: true });
    },
  };
}

async function createPod(url: string, headers: Record<string, string>, app: string): Promise<string> {
  const body = { name: "echo", image: `host:${app}`, cmd: ["node", PROGRAM], ports: [`${PORT}/http`] };
  const created = await fetch(`${url}/v2/pods`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ ...body, cpu: { id: "cpu3c", vcpuCount: 2 } }),
  });
  if (created.status !== 201) throw new Error(`no Pod was made: ${await created.text()}`);
  return ((await created.json()) as { id: string }).id;
}

async function answers(url: string, headers: Record<string, string>): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    const answer = await fetch(url, { method: "POST", headers, body: "{}" });
    if (answer.ok) return;
    await stay(LOOK_MS);
  }
  throw new Error("the program of the Pod does not answer");
}

/** The program outlives the server and is not its child, so it is found by its name. */
async function programsNamed(name: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((one) => /^\d+$/.test(one));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const words = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0");
      return words[1] === name ? [Number(pid)] : [];
    }),
  );
  return found.flat();
}
