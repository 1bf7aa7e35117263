/** Images on their way to instances of this machine: how far each is, and whether its registry still sends. */
import type { Clock } from "../kernel/clock.ts";
import { because, type Reason } from "../kernel/reason.ts";
import type { Arrived } from "../ports/compute/images.ts";

/** A registry that has sent nothing for this long is said to be slow. */
const SLOW_AFTER_MS = 10_000;

interface Pull {
  image: string;
  startedAt: number;
  /** When the registry last sent something, or was asked first. */
  heardAt: number;
  /** What was last said of it, in words. */
  line: string;
  arrived?: Arrived;
}

export class Pulls {
  readonly #clock: Clock;
  readonly #pulls = new Map<string, Pull>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What a registry, or a driver that asks one, tells of the image that an instance waits for. */
  follow(id: string, image: string) {
    return {
      asking: () => this.#tell(id, image, {}),
      progress: (line: string) => this.#tell(id, image, { line }),
      arrived: (arrived: Arrived) => this.#tell(id, image, { arrived }),
    };
  }

  end(id: string): void {
    this.#pulls.delete(id);
  }

  #tell(id: string, image: string, news: Partial<Pick<Pull, "line" | "arrived">>): void {
    const now = this.#clock.monotonic();
    const known = this.#pulls.get(id) ?? { image, startedAt: now, heardAt: now, line: "asking its registry" };
    const heardAt = news.arrived && isMore(news.arrived, known.arrived) ? now : known.heardAt;
    this.#pulls.set(id, { ...known, ...news, heardAt });
  }

  /** Of this moment, so that time passes in it although nobody tells anything. */
  reasonOf(id: string): Reason | undefined {
    const pull = this.#pulls.get(id);
    if (!pull) return undefined;
    const { image, arrived, line } = pull;
    const now = this.#clock.monotonic();
    const sizes = arrived && arrived.total > 0 ? { bytes: arrived.bytes, totalBytes: arrived.total } : {};
    if (!arrived?.isAll && now - pull.heardAt >= SLOW_AFTER_MS)
      return because("registry-slow", { image, seconds: secondsIn(now - pull.heardAt), ...sizes });
    const words = arrived?.isAll ? { progress: "unpacking" } : "bytes" in sizes ? {} : { progress: line };
    return because("pulling-image", { image, ...words, seconds: secondsIn(now - pull.startedAt), ...sizes });
  }
}

const secondsIn = (ms: number) => Math.floor(ms / 1000);

/** Whether the registry has sent something in between; that it is asked again is nothing that it sent. */
const isMore = (now: Arrived, before: Arrived | undefined) =>
  now.bytes !== (before?.bytes ?? 0) || now.total !== (before?.total ?? 0) || now.isAll !== (before?.isAll ?? false);
