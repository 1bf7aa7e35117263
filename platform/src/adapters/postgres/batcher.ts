/** Combines many small questions into few round trips: questions that come during one round trip go out together in the next. */
import { isProblem } from "../../kernel/problem.ts";
import { isSilence } from "./pool.ts";

interface Waiting<Item, Answer> {
  item: Item;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** With more items than this, a batch only makes its first callers wait for its last. */
const LARGEST_BATCH = 500;

/** Batchers on one lane take turns. While one batch is under way, the batches of the others grow. */
export class Lane {
  #last: Promise<void> = Promise.resolve();
  readonly #batchers: ((error: unknown) => void)[] = [];

  /** Runs `work`, which must not fail, after all earlier work on this lane. */
  next(work: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(work);
    return this.#last;
  }

  join(silenced: (error: unknown) => void): void {
    this.#batchers.push(silenced);
  }

  /** Fails all waiting questions when the database was silent. Otherwise each batch in turn would wait just as long again. */
  silenced(error: unknown): void {
    for (const silenced of this.#batchers) silenced(error);
  }
}

/** No timer forms batches: a question that finds nothing under way is sent at once. Batches are sent one after another. */
export class Batcher<Item, Answer> {
  readonly #run: (items: Item[]) => Promise<Answer[]>;
  readonly #lane: Lane;
  readonly #ready: (() => Promise<void>) | undefined;
  #waiting: Waiting<Item, Answer>[] = [];
  #sending: Promise<void> | undefined;

  /** `run` answers the items of one batch, in their order. When the batch's turn has come, it gathers items until it is `ready`. */
  constructor(run: (items: Item[]) => Promise<Answer[]>, lane = new Lane(), ready?: () => Promise<void>) {
    this.#run = run;
    this.#ready = ready;
    this.#lane = lane;
    lane.join((error) => {
      for (const { reject } of this.#waiting.splice(0)) reject(error);
    });
  }

  ask(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#sending ??= this.#send();
    });
  }

  /** Resolves when all questions asked so far are answered. */
  async idle(): Promise<void> {
    await this.#sending;
  }

  async #send(): Promise<void> {
    // The first question waits for the end of this turn, so that everything asked in the same turn shares its round trip.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      await this.#lane.next(async () => {
        await this.#ready?.();
        await this.#answer(this.#waiting.splice(0, LARGEST_BATCH));
      });
    }
    this.#sending = undefined;
  }

  async #answer(batch: Waiting<Item, Answer>[]): Promise<void> {
    if (batch.length === 0) return;
    try {
      const answers = await this.#run(batch.map(({ item }) => item));
      for (const [i, { resolve }] of batch.entries()) resolve(answers[i]!);
    } catch (error) {
      // An error that one item caused must not fail the others, so each is tried alone. An outage concerns all of them.
      if (batch.length > 1 && !isProblem(error, "unavailable")) {
        for (const alone of batch) await this.#answer([alone]);
      } else for (const { reject } of batch) reject(error);
      if (isSilence(error)) this.#lane.silenced(error);
    }
  }
}

/** Groups the answers to the items of several calls by call again. */
export function regroup<Answer>(calls: readonly (readonly unknown[])[], answers: readonly Answer[]): Answer[][] {
  const rest = answers.values();
  return calls.map((call) => call.map(() => rest.next().value!));
}
