/** `/output`: sends an output that is too long for its record, as fast as the client reads and never whole in memory. */
import type { Outputs } from "../../jobs/outputs.ts";
import type { Caller } from "../../kernel/caller.ts";
import { problem } from "../../kernel/problem.ts";
import { drained } from "../http/events.ts";
import { ClientGone } from "../http/gone.ts";
import { writeHead } from "../http/head.ts";
import { searchOf } from "../http/pipeline.ts";
import type { Params, Reply, Request } from "../http/reply.ts";
import type { Surface } from "../http/surface.ts";

interface Asked {
  endpoint: { id: string };
  job: string;
  request: Request;
  reply: Reply;
}

/** An empty caller: the link itself says what it opens. */
const BEARER: Caller = { account: "", user: "", key: "", grants: [], exempt: false };

const attemptIn = (search: URLSearchParams) => {
  const text = search.get("attempt");
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
};

/** The same surface for a client that brings a link instead of a key, or undefined for all others. */
export function linkSurface(
  surface: Surface,
  outputs: Outputs,
  request: Request,
  { endpoint_id: endpoint = "", job_id: job = "" }: Params,
): Surface | undefined {
  const search = searchOf(request);
  const signature = search.get("signature");
  if (request.headers.authorization !== undefined || signature === null) return undefined;
  return {
    ...surface,
    authenticate: async () => {
      if (outputs.isSigned({ endpoint, job, attempt: attemptIn(search) }, signature)) return BEARER;
      throw problem("unauthenticated", "unauthorized: the signature does not open this output");
    },
  };
}

export async function output(outputs: Outputs, { endpoint, job: id, request, reply }: Asked): Promise<Reply> {
  const job = await outputs.find({ endpoint: endpoint.id, job: id, attempt: attemptIn(searchOf(request)) });
  const { bytes } = job.large;
  const range = rangeOf(request.headers.range, bytes);
  const [from, to] = range ?? [0, bytes];
  const pieces = request.method === "HEAD" ? [] : await outputs.open(job, from, to - from);
  const { raw } = reply;
  writeHead(raw, range ? 206 : 200, {
    ...reply.headers,
    "content-type": "application/json",
    "content-length": to - from,
    ...(range ? { "content-range": `bytes ${from}-${to - 1}/${bytes}` } : {}),
    "accept-ranges": "bytes",
    "x-job-status": job.state,
    // The link works like a key, so nothing may cache it. A page with this content must not run as a page of this server.
    "cache-control": "private, no-store",
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox",
  });
  const gone = new ClientGone(reply);
  for await (const piece of pieces) {
    if (gone.aborted) return reply;
    raw.write(piece);
    await drained(raw, gone);
  }
  raw.end();
  return reply;
}

/** Reads a single range, as for resuming a download. Any other form of range is answered in full, which HTTP allows. */
function rangeOf(header: string | undefined, bytes: number): [from: number, to: number] | undefined {
  const [, first, last] = /^bytes=(\d{1,15})-(\d{0,15})$/.exec(header ?? "") ?? [];
  if (first === undefined) return undefined;
  const from = Number(first);
  const to = last === "" ? bytes : Math.min(Number(last) + 1, bytes);
  if (from < to) return [from, to];
  throw problem("outside-range", `the output has ${bytes} bytes: 'Range: ${header}' is not within it`, {
    headers: { "Content-Range": `bytes */${bytes}` },
  });
}
