/** One call of an endpoint from the page: sends it, reads what comes back piece by piece, and can be stopped. */
import { useEffect, useRef, useState } from "react";
import { addressOf, send, sendForAny } from "../../api/client.ts";
import { parseExact } from "../../api/exact-json.ts";
import { cache, keyOf } from "../../api/queries.ts";
import { Refusal } from "../../api/refusal.ts";
import type { RunMode } from "./try-modes.ts";

export interface HttpAnswer {
  status: number;
  statusText: string;
  headers: [name: string, value: string][];
  /** Of what kind the body is. */
  type: string;
  ms: number;
}

interface Called {
  mode?: RunMode;
  isBusy: boolean;
  beganAt?: number;
  jobId?: string;
  /** What has come so far, as text. */
  text: string;
  answer?: HttpAnswer;
  /** The address of a picture that came. */
  picture?: string;
  refusal?: Refusal;
  tookMs?: number;
}

interface Sending {
  mode: RunMode;
  body: string;
  http: { method: string; path: string };
}

/** More text than this is not drawn. */
const LONGEST_TEXT = 2_000_000;
const NOTHING: Called = { isBusy: false, text: "" };

export function useCall(endpointId: string) {
  const [called, setCalled] = useState<Called>(NOTHING);
  const stopping = useRef<AbortController>(null);
  useEffect(() => () => stopping.current?.abort(), []);
  const start = async ({ mode, body, http }: Sending) => {
    stopping.current?.abort();
    const stop = new AbortController();
    stopping.current = stop;
    const tell = (news: Partial<Called>) => !stop.signal.aborted && setCalled((before) => ({ ...before, ...news }));
    setCalled({ mode, isBusy: true, beganAt: Date.now(), text: "" });
    const began = performance.now();
    try {
      await sending[mode]({ endpointId, body, http, signal: stop.signal, tell });
    } catch (error) {
      if (stop.signal.aborted) return;
      if (!(error instanceof Refusal)) throw error;
      tell({ refusal: error });
    } finally {
      tell({ isBusy: false, tookMs: performance.now() - began });
      void cache.invalidateQueries({ queryKey: keyOf("listJobs") });
    }
  };
  const stop = () => {
    stopping.current?.abort();
    setCalled((before) => ({ ...before, isBusy: false }));
  };
  return { ...called, start, stop };
}

interface Way {
  endpointId: string;
  body: string;
  http: Sending["http"];
  signal: AbortSignal;
  tell: (news: Partial<Called>) => void;
}

const sending: Record<RunMode, (way: Way) => Promise<void>> = {
  async run({ endpointId, body, signal, tell }) {
    const params = { endpoint_id: endpointId };
    const answer = await send(addressOf("runJob", { params }), { method: "POST", text: body, signal });
    const { id } = (await answer.json()) as { id: string };
    tell({ jobId: id });
  },
  async wait({ endpointId, body, signal, tell }) {
    const params = { endpoint_id: endpointId };
    const answer = await send(addressOf("runJobAndWait", { params, query: { wait: 300_000 } }), {
      method: "POST",
      text: body,
      signal,
    });
    // The headers come before the end, so that the reason for waiting can be shown.
    const early = answer.headers.get("X-Job-Id");
    if (early) tell({ jobId: early });
    const record = parseExact(await answer.text()) as { id: string };
    cache.setQueryData(keyOf("getJob", { params: { ...params, job_id: record.id } }), record);
    tell({ jobId: record.id });
  },
  async chat({ endpointId, body, signal, tell }) {
    const answer = await send(`/v2/${encodeURIComponent(endpointId)}/openai/v1/chat/completions`, {
      method: "POST",
      text: body,
      signal,
    });
    const id = answer.headers.get("X-Job-Id");
    if (id) tell({ jobId: id });
    await readText(answer, (text) => tell({ text }));
  },
  async http({ endpointId, body, http: { method, path }, signal, tell }) {
    const began = performance.now();
    const hasBody = method !== "GET" && body.trim() !== "";
    const answer = await sendForAny(`/v2/${encodeURIComponent(endpointId)}${path}`, {
      method,
      ...(hasBody && { text: body }),
      signal,
    });
    const type = answer.headers.get("Content-Type") ?? "";
    tell({
      answer: {
        status: answer.status,
        statusText: answer.statusText,
        headers: [...answer.headers],
        type,
        ms: performance.now() - began,
      },
    });
    // A page or a script of a worker is shown as text: it must never run in the console.
    if (/^image\/(png|jpeg|gif|webp|avif)\b/.test(type)) tell({ picture: URL.createObjectURL(await answer.blob()) });
    else await readText(answer, (text) => tell({ text }));
  },
};

async function readText(answer: Response, tell: (text: string) => void): Promise<void> {
  const words = new TextDecoder();
  let text = "";
  if (!answer.body) return;
  for await (const bytes of answer.body as unknown as AsyncIterable<Uint8Array>) {
    if (text.length > LONGEST_TEXT) continue;
    text += words.decode(bytes, { stream: true });
    tell(text);
  }
}
