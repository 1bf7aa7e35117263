/** Answers without a key whether the server is up, whether it can work, and what its icon is. Callers learn nothing else. */
import type { Clock } from "../../kernel/clock.ts";
import { resourceId } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";
import { within } from "../../kernel/wait.ts";
import type { Store } from "../../ports/store/store.ts";
import { icon } from "./page.ts";
import type { Answering } from "./reply.ts";
import type { Router } from "./router.ts";

export type IsReady = () => Promise<boolean>;

export function mountProbes(router: Router, isReady: IsReady): void {
  const says = (status: string) => JSON.stringify({ status });
  const alive: Answering = (_, reply) => unkept(reply).send(says("ok"));
  const ready: Answering = async (_, reply) => {
    const isIt = await isReady();
    return unkept(reply)
      .code(isIt ? 200 : 503)
      .send(says(isIt ? "ok" : "unavailable"));
  };
  const picture = decodeURIComponent(icon.slice(icon.indexOf(",") + 1));
  router.add(["GET"], "/healthz", alive);
  router.add(["GET"], "/readyz", ready);
  router.add(["GET"], "/favicon.ico", (_, reply) =>
    reply.header("Cache-Control", "max-age=86400").type("image/svg+xml").send(picture),
  );
}

const unkept = (reply: Parameters<Answering>[1]) =>
  reply.header("Cache-Control", "no-store").type("application/json; charset=utf-8");

/** Anyone may ask, and each check is a write. So a caller who asks more often gets the last result again. */
const LOOK_EVERY_MS = 1000;
/** A server whose writes take longer than this counts as not ready. */
const LOOK_LIMIT_MS = 5000;

interface ReadinessParts {
  store: Pick<Store, "lease">;
  clock: Clock;
  random: Random;
  /** Returns why the server takes on no new work, or undefined when all is well. */
  refusal?: (() => unknown) | undefined;
}

/** Whether a server can do its work: it can write its records, and it is not shutting down. */
export class Readiness {
  readonly #parts: ReadinessParts;
  readonly #holder: string;
  #isClosing = false;
  #looked: { atMs: number; isWritten: Promise<boolean> } | undefined;

  constructor(parts: ReadinessParts) {
    this.#parts = parts;
    this.#holder = resourceId(parts.random);
  }

  /** From now on the server is not ready. */
  close(): void {
    this.#isClosing = true;
  }

  async isReady(): Promise<boolean> {
    if (this.#isClosing || this.#parts.refusal?.() !== undefined) return false;
    const atMs = this.#parts.clock.monotonic();
    if (!this.#looked || atMs - this.#looked.atMs >= LOOK_EVERY_MS) this.#looked = { atMs, isWritten: this.#write() };
    return (await this.#looked.isWritten) && !this.#isClosing;
  }

  async #write(): Promise<boolean> {
    const { store, clock } = this.#parts;
    let isWritten = false;
    const now = clock.now();
    const writing = store.lease({ name: "ready", holder: this.#holder, now, until: now }).then(
      () => {
        isWritten = true;
      },
      () => {},
    );
    await within(clock, LOOK_LIMIT_MS, writing);
    return isWritten;
  }
}
