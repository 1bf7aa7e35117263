/** Tracks images that are being pulled for instances of this machine: how far each is, and whether its registry still sends. */
import type { Clock } from "../kernel/clock.ts";
import { because, type Reason } from "../kernel/reason.ts";
import type { Arrived } from "../ports/compute/images.ts";

/** A registry that has sent nothing for this long is reported as slow. */
const SLOW_AFTER_MS = 10_000;

interface Pull {
  image: string;
  startedAt: number;
  /** When the registry last sent something, or was first asked. */
  heardAt: number;
  /** The last progress line. */
  line: string;
  arrived?: Arrived;
}

export class Pulls {
  readonly #clock: Clock;
  readonly #pulls = new Map<string, Pull>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns callbacks through which a registry or a driver reports on the image that an instance waits for. */
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

  /** Computed at the time of the call, so that the seconds advance even if nothing is reported. */
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

/** Whether the registry has sent something since. Asking it again does not count. */
const isMore = (now: Arrived, before: Arrived | undefined) =>
  now.bytes !== (before?.bytes ?? 0) || now.total !== (before?.total ?? 0) || now.isAll !== (before?.isAll ?? false);
