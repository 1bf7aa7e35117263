/** Asks the identity provider over HTTP: answers come in time, are short, and lead nowhere else. */

const MOST_BYTES = 1024 * 1024;
/** Statuses whose responses cannot have a body. */
const EMPTY = [204, 205, 304];

/** How a provider failed to answer, in words for people. */
export class NoAnswer extends Error {}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** All requests made with the result share one deadline. */
export function boundedFetch(withinMs: number): Fetch {
  const deadline = AbortSignal.timeout(withinMs);
  return async (url, init) => {
    const { host } = new URL(url);
    try {
      const response = await fetch(url, { ...init, redirect: "manual", signal: deadline });
      const { status, statusText, headers } = response;
      const body = await wholeBody(response, host);
      return new Response(EMPTY.includes(status) ? null : body, { status, statusText, headers });
    } catch (error) {
      if (error instanceof NoAnswer) throw error;
      if (deadline.aborted) throw new NoAnswer(`${host} did not answer within ${withinMs / 1000} seconds`);
      throw new NoAnswer(`${host} cannot be reached (${codeOf(error)})`);
    }
  };
}

async function wholeBody({ body }: Response, host: string): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.byteLength;
    if (bytes > MOST_BYTES) throw new NoAnswer(`${host} sent more than ${MOST_BYTES} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces, bytes);
}

function codeOf(error: unknown): string {
  const { code, cause, message } = error as NodeJS.ErrnoException;
  return code ?? (cause instanceof Error ? codeOf(cause) : message);
}
