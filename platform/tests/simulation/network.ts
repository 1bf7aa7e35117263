/** The network between processes and the server: messages are delayed, lost and doubled. */
import { isProblem, type Problem } from "../../src/kernel/problem.ts";
import { Life } from "./life.ts";
import type { Server } from "./server.ts";
import type { World } from "./world.ts";

/** A client or a worker. */
export class Process extends Life {
  readonly name: string;
  readonly world: World;

  constructor(world: World, name: string) {
    super(world.timeline);
    this.world = world;
    this.name = name;
  }
}

/** What a caller knows in the end: the answer, a refusal, or nothing. */
export type Answer<T> = { value: T } | { refused: Problem } | "lost";

type Work<T> = (server: Server, gone: AbortSignal) => Promise<T>;

/** Sends a request to the server that is up when it arrives. A caller that gets no answer within `timeoutMs` hangs up. */
export function request<T>(from: Process, work: Work<T>, timeoutMs: number): Promise<Answer<T>> {
  const { world } = from;
  const { random, mix } = world;
  const gone = new AbortController();
  return new Promise((resolve) => {
    let over = false;
    const end = (answer: Answer<T>) =>
      from.reach(() => {
        if (over) return;
        over = true;
        limit.cancel();
        resolve(answer);
      });
    const limit = world.timeline.after(timeoutMs, () => {
      end("lost");
      // The server learns of the closed connection a little later, or never.
      if (!random.chance(mix.messages.lost)) world.timeline.after(transitMs(world), () => world.hangUp(gone));
    });
    const arrive = () => void arrived(world, work, gone, end);
    if (!random.chance(mix.messages.lost)) world.timeline.after(transitMs(world), arrive);
    if (random.chance(mix.messages.doubled)) world.timeline.after(transitMs(world) * 2, arrive);
  });
}

async function arrived<T>(
  world: World,
  work: Work<T>,
  gone: AbortController,
  end: (answer: Answer<T>) => void,
): Promise<void> {
  const { server, random, mix } = world;
  if (!server) return void world.timeline.after(transitMs(world), () => end("lost"));
  const reset = () => void world.timeline.after(transitMs(world), () => end("lost"));
  world.connections.set(gone, reset);
  const answer = await answerOf(work(server, gone.signal));
  if (server.isDead) return;
  world.connections.delete(gone);
  if (answer === "broken") return;
  if (!random.chance(mix.messages.lost)) world.timeline.after(transitMs(world), () => end(answer));
  if (random.chance(mix.crashAfterAnswer)) world.crash("right after an answer");

  async function answerOf(working: Promise<T>): Promise<Answer<T> | "broken"> {
    try {
      return { value: await working };
    } catch (error) {
      if (isProblem(error)) return { refused: error };
      world.trace.broken(`the server had a fault: ${(error as Error).stack}`);
      return "broken";
    }
  }
}

function transitMs({ random, mix, isNetworkBad }: World): number {
  if (random.chance(isNetworkBad ? 0.5 : mix.messages.late)) return random.below(random.pick([3000, 45_000]));
  return random.below(20);
}
