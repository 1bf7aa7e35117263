/** Follows the engine's events about an installation's containers, through every restart of the engine. */
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { pause } from "../../kernel/wait.ts";
import { StartRefused } from "../../ports/compute/compute.ts";
import { type Labels, label } from "./container.ts";
import type { Engine } from "./engine.ts";
import { linesIn } from "./engine-api.ts";

export interface EngineEvent {
  Action: "start" | "die" | "pause" | "unpause";
  Actor: { ID: string; Attributes: Labels };
  /** The event's time in seconds. */
  time: number;
}

export interface Follower {
  /** Called when the first attempt is over, whether or not the engine was there. */
  attempted(): void;
  /** Called when the engine is connected. No event is missed from now on, so the follower looks at all containers once. */
  connected(): Promise<void>;
  happened(event: EngineEvent): Promise<void>;
}

const RETRY_MS = 500;
/** How often to look for an engine that has never answered. */
const LOOK_AGAIN_MS = 10_000;

export interface Following {
  engine: Engine;
  installation: string;
  follower: Follower;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

/** Continues until `signal` aborts. */
export async function followEvents(following: Following): Promise<void> {
  const { follower, clock, log, signal } = following;
  let saidAway = "";
  const connected = async () => {
    if (saidAway !== "") log.info({}, "the container engine is back");
    saidAway = "";
    await follower.connected();
  };
  while (!signal.aborted) {
    let retryMs = RETRY_MS;
    try {
      await followOnce({ ...following, follower: { ...follower, connected } });
      log.warn({}, "the container engine went away");
    } catch (error) {
      const { message } = error as Error;
      if (error instanceof StartRefused) retryMs = LOOK_AGAIN_MS;
      // It is looked for twice a second, and it may be away for days.
      else if (!signal.aborted && message !== saidAway) log.warn({ err: error }, "the container engine is away");
      saidAway = message;
    }
    follower.attempted();
    await pause(clock, retryMs, signal);
  }
}

async function followOnce({ engine, installation, follower, signal }: Following): Promise<void> {
  const { api } = await engine.find();
  const filters = {
    type: ["container"],
    label: [`${label.installation}=${installation}`],
    // Podman reports an end as `die` too, but its filter only knows `died`.
    event: ["start", "die", "died", "pause", "unpause"],
  };
  const events = await api.stream("GET", "/events", { query: { filters }, signal });
  await follower.connected();
  follower.attempted();
  for await (const line of linesIn(events)) await follower.happened(JSON.parse(line) as EngineEvent);
}
