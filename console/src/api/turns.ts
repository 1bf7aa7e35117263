/** Runs many small reads a few at a time, so that neither the browser's connections nor its main thread are taken by them alone. */

/** A browser opens six connections to a server; the event stream has one, and what people click must not wait. */
const AT_ONCE = 4;

let running = 0;
const waiting: (() => void)[] = [];

export async function inTurn<Answer>(read: () => Promise<Answer>): Promise<Answer> {
  if (running < AT_ONCE) running++;
  // Whoever ends hands its place over.
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await read();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}
