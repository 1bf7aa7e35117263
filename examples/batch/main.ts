/** Runs a job for each of many rows, in batches. Keeps a few batches under way, and reads each one's results when it is done. */
import { setTimeout } from "node:timers/promises";

const { API = "", KEY = "", ENDPOINT = "", ROWS = "1000000", BATCH = "5000" } = process.env;
/** An endpoint takes ten batches at a time. Eight leave room for other programs. */
const UNDER_WAY = 8;
const PAGE = 1000;

interface Batch {
  id: string;
  completedAt?: number | null;
}
interface Page {
  requests: { status: string; output?: { n: number } }[];
  hasMore: boolean;
}

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(`${API}/${ENDPOINT}/batch${path}`, {
    method,
    headers: { authorization: `Bearer ${KEY}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** Yields the rows in groups. A real program would read them from a file or a database. */
function* groups(): Generator<{ input: { n: number } }[]> {
  const [rows, size] = [Number(ROWS), Number(BATCH)];
  for (let first = 0; first < rows; first += size)
    yield Array.from({ length: Math.min(size, rows - first) }, (_, i) => ({ input: { n: first + i } }));
}

async function submit(requests: object[]): Promise<string> {
  const { id } = await call<Batch>("POST", "", requests);
  await call("POST", `/${id}/finalize`);
  return id;
}

async function resultsOf(id: string): Promise<Page["requests"]> {
  while (!(await call<Batch>("GET", `/${id}`)).completedAt) await setTimeout(200);
  const all: Page["requests"] = [];
  for (;;) {
    const { requests, hasMore } = await call<Page>("GET", `/${id}/requests?offset=${all.length}&limit=${PAGE}`);
    all.push(...requests);
    if (!hasMore) return all;
  }
}

const total = { completed: 0, other: 0, sum: 0 };
async function take(id: string): Promise<void> {
  for (const { status, output } of await resultsOf(id)) {
    total[status === "COMPLETED" ? "completed" : "other"]++;
    total.sum += output?.n ?? 0;
  }
}

const underWay: string[] = [];
for (const group of groups()) {
  if (underWay.length === UNDER_WAY) await take(underWay.shift()!);
  underWay.push(await submit(group));
}
for (const id of underWay) await take(id);
console.log(JSON.stringify(total));
