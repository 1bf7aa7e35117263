/** Many small questions as few round trips: what is asked during one round trip goes out together in the next. */
import { isProblem } from "../../kernel/problem.ts";
import { isSilence } from "./pool.ts";

interface Waiting<Item, Answer> {
  item: Item;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** Beyond this many, a batch only makes its first askers wait for its last. */
const LARGEST_BATCH = 500;

/** For batchers that take turns: while one's batch is under way, those of the others grow. */
export class Lane {
  #last: Promise<void> = Promise.resolve();
  readonly #batchers: ((error: unknown) => void)[] = [];

  /** Does the work, which must not fail, once all before it is done. */
  next(work: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(work);
    return this.#last;
  }

  join(silenced: (error: unknown) => void): void {
    this.#batchers.push(silenced);
  }

  /** A question that waited while nothing was heard has waited long enough: one after another, each batch would wait as long again. */
  silenced(error: unknown): void {
    for (const silenced of this.#batchers) silenced(error);
  }
}

/** No timer forms batches: a question that finds nothing under way is sent at once. Batches are sent one after another. */
export class Batcher<Item, Answer> {
  readonly #run: (items: Item[]) => Promise<Answer[]>;
  readonly #lane: Lane;
  #waiting: Waiting<Item, Answer>[] = [];
  #sending: Promise<void> | undefined;

  /** `run` answers the items of one batch, in their order. */
  constructor(run: (items: Item[]) => Promise<Answer[]>, lane = new Lane()) {
    this.#run = run;
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

  /** Resolves when everything asked so far is answered. */
  async idle(): Promise<void> {
    await this.#sending;
  }

  async #send(): Promise<void> {
    // The first question waits for the end of this turn, so that everything the turn brings shares its round trip.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      await this.#lane.next(() => this.#answer(this.#waiting.splice(0, LARGEST_BATCH)));
    }
    this.#sending = undefined;
  }

  async #answer(batch: Waiting<Item, Answer>[]): Promise<void> {
    if (batch.length === 0) return;
    try {
      const answers = await this.#run(batch.map(({ item }) => item));
      for (const [i, { resolve }] of batch.entries()) resolve(answers[i]!);
    } catch (error) {
      // A fault that one item brought must not become everybody's; an outage is everybody's.
      if (batch.length > 1 && !isProblem(error, "unavailable")) {
        for (const alone of batch) await this.#answer([alone]);
      } else for (const { reject } of batch) reject(error);
      if (isSilence(error)) this.#lane.silenced(error);
    }
  }
}

/** Answers to the items of several calls, put back together call by call. */
export function regroup<Answer>(calls: readonly (readonly unknown[])[], answers: readonly Answer[]): Answer[][] {
  const rest = answers.values();
  return calls.map((call) => call.map(() => rest.next().value!));
}
