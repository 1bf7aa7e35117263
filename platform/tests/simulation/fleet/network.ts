/** Requests to nodes from outside: they go to any node, may be late or lost, and fail when the node dies. */
import { isProblem, type Problem } from "../../../src/kernel/problem.ts";
import type { SimulatedNode } from "./node.ts";
import type { FleetWorld } from "./world.ts";

/** What a caller knows in the end: the answer, a refusal, or nothing. */
export type Answer<T> = { value: T } | { refused: Problem } | "lost";

/** Sends a request to one of the nodes that are up. A caller that gets no answer within `timeoutMs` hangs up. */
export function ask<T>(
  world: FleetWorld,
  work: (node: SimulatedNode) => Promise<T>,
  timeoutMs: number,
  gone = new AbortController(),
): Promise<Answer<T>> {
  const { random, mix, timeline } = world;
  const transitMs = () => (random.chance(mix.messages.late) ? random.below(2000) : 1);
  return new Promise((resolve) => {
    let isOver = false;
    const end = (answer: Answer<T>) => {
      if (isOver) return;
      isOver = true;
      limit.cancel();
      node?.calls.delete(reset);
      resolve(answer);
    };
    const reset = () => void timeline.after(1, () => end("lost"));
    const limit = timeline.after(timeoutMs, () => {
      end("lost");
      if (node && !node.life.isDead) node.life.reach(() => gone.abort());
    });
    const up = world.nodesUp();
    const node = up.length > 0 ? random.pick(up) : undefined;
    if (!node || random.chance(mix.messages.lost / 4)) return void timeline.after(500, () => end("lost"));
    node.calls.add(reset);
    const arrive = async () => {
      const answer = await answerOf(world, node, work);
      if (!node.life.isDead && !random.chance(mix.messages.lost / 4)) timeline.after(transitMs(), () => end(answer));
    };
    timeline.after(transitMs(), () => node.life.reach(() => void arrive()));
  });
}

async function answerOf<T>(
  { trace }: FleetWorld,
  node: SimulatedNode,
  work: (node: SimulatedNode) => Promise<T>,
): Promise<Answer<T>> {
  try {
    return { value: await work(node) };
  } catch (error) {
    if (isProblem(error)) return { refused: error };
    trace.broken(`${node.name} had a fault: ${(error as Error).stack}`);
    return "lost";
  }
}
