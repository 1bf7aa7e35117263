/** Answers that `public/start.js` asked for before the console was loaded. Each is taken once. */

interface Early {
  answer: Promise<Response>;
  stop: AbortController;
}

declare global {
  var millraceEarly: Map<string, Early> | undefined;
}

export function takeEarly(address: string, signal: AbortSignal | undefined): Promise<Response> | undefined {
  const early = globalThis.millraceEarly?.get(address);
  if (!early) return undefined;
  globalThis.millraceEarly!.delete(address);
  const { answer, stop } = early;
  if (signal?.aborted) stop.abort();
  signal?.addEventListener("abort", () => stop.abort(), { once: true });
  return answer;
}

export const hasEarly = (address: string): boolean => globalThis.millraceEarly?.has(address) === true;
