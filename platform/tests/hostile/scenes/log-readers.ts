/** Many readers follow the log of one worker that writes much. */
import { stay } from "../../../src/kernel/clock.ts";
import type { Scene, Stage } from "../stage.ts";

const FOLLOWERS = 10;
const ATTACK_MS = 1500;
const LOOK_MS = 50;
/** A busy machine takes so long for what a quiet one does at once. */
const PATIENCE_MS = 60_000;

export const scenes: Scene[] = [
  {
    name: "a long log is followed by many, half of whom do not read it",
    async attack(stage) {
      const endpoint = await stage.hostileEndpoint("chatter", { workers: { min: 1, max: 1 } });
      const worker = await workerOf(stage, endpoint);
      const url = `${stage.server.url}/v2/serverless/${endpoint}/workers/${worker}/logs?tail=5000`;
      await firstWords(stage, url);
      const over = new AbortController();
      const told = Promise.withResolvers<void>();
      const followers = Promise.all(
        Array.from({ length: FOLLOWERS }, (_, i) => follow(stage, url, over.signal, i % 2 === 0, told.resolve)),
      );
      await Promise.race([followers, Promise.all([stay(ATTACK_MS), told.promise]), stay(PATIENCE_MS)]);
      over.abort();
      if (Math.max(...(await followers)) === 0) throw new Error("nobody was told of the log");
      await stage.remove(endpoint);
    },
  },
];

/** On a busy machine the worker takes some time to begin. */
async function firstWords({ hostile }: Stage, url: string): Promise<void> {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${hostile.key}` } });
  for await (const _ of answer.body!) break;
}

/** Resolves with the number of bytes that came. */
async function follow(
  { hostile }: Stage,
  url: string,
  signal: AbortSignal,
  reads: boolean,
  tell: () => void,
): Promise<number> {
  let bytes = 0;
  try {
    const answer = await fetch(url, { headers: { authorization: `Bearer ${hostile.key}` }, signal });
    if (answer.status !== 200) throw new Error(`a follower was answered ${answer.status}: ${await answer.text()}`);
    if (!reads) await stay(ATTACK_MS);
    for await (const chunk of answer.body!) {
      bytes += chunk.length;
      tell();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return bytes;
}

async function workerOf({ hostile }: Stage, endpoint: string): Promise<string> {
  for (let tries = PATIENCE_MS / LOOK_MS; tries > 0; tries--) {
    const { json } = await hostile.call("GET", `/v2/serverless/${endpoint}/workers`);
    const [worker] = json.workers;
    if (worker) return worker.id;
    await stay(LOOK_MS);
  }
  throw new Error("the hostile worker never began");
}
