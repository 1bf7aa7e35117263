/** Makes reads of all tabs wait quietly, together, after the server said that this person asks too often. */

/** A longer pause is shown to the person instead, as the refusal that it is. */
const LONGEST_MS = 75_000;
/** Tabs go on at different moments within this time, so that they do not all ask at once. */
const SPREAD_MS = 3000;

/** The part of a BroadcastChannel that is used. */
interface Channel {
  postMessage(until: number): void;
  onmessage: ((event: MessageEvent) => unknown) | null;
}

/** The server counts all tabs together. Without this, each would find out by itself, and take what the others need. */
export class RatePause {
  #until = 0;
  readonly #channel: Channel | undefined;

  constructor(channel: Channel | undefined) {
    this.#channel = channel;
    if (channel) channel.onmessage = ({ data }) => this.#extend(Number(data));
  }

  /** Begins a pause as long as the answer says. False if it says nothing, or too long a time. */
  begin(answer: Response): boolean {
    const seconds = Number(answer.headers.get("Retry-After") ?? Number.NaN);
    const ms = seconds * 1000;
    if (!(ms >= 0 && ms <= LONGEST_MS)) return false;
    this.#extend(Date.now() + ms);
    this.#channel?.postMessage(this.#until);
    return true;
  }

  /** Resolves when there is no pause, or when the reader has gone. */
  async over(signal?: AbortSignal): Promise<void> {
    while (this.#until > Date.now() && !signal?.aborted)
      await paused(this.#until - Date.now() + Math.random() * SPREAD_MS, signal);
  }

  /** A message of another tab may be of any age and any content. */
  #extend(until: number): void {
    const most = Date.now() + LONGEST_MS;
    if (until > this.#until) this.#until = Math.min(until, most);
  }
}

export function paused(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}
