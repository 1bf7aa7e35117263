/** Callers that send requests in parallel without a pause. */

/** Each caller asks again as soon as it was answered, until the time is over. Resolves with the number of requests. */
export async function askAgainAndAgain(callers: number, forMs: number, ask: () => Promise<unknown>): Promise<number> {
  const until = performance.now() + forMs;
  let times = 0;
  const caller = async () => {
    while (performance.now() < until) {
      await ask();
      times++;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return times;
}

/** Fails unless the answer has one of these statuses. */
export async function expectStatus(
  allowed: readonly number[],
  asked: Promise<{ status: number; text: string }>,
): Promise<void> {
  const { status, text } = await asked;
  if (!allowed.includes(status)) throw new Error(`answered ${status}: ${text.slice(0, 300)}`);
}
