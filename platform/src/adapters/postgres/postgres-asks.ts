/** Claims on their way to PostgreSQL. While one waits for its turn, jobs may begin for it as they are inserted, and it needs no turn. */
import type { Ask, Claimed } from "../../ports/queue/queue.ts";
import type { Standbys } from "../../ports/queue/standbys.ts";
import { Batcher, type Lane } from "./batcher.ts";
import type { Begun } from "./postgres-claim.ts";

interface Pending {
  ask: Ask;
  /** Stands by no more. */
  leave(): void;
  begun?: Promise<Begun[]>;
}

export class Asks {
  readonly #standbys: Standbys;
  readonly #batcher: Batcher<Pending, Begun[]>;

  constructor(standbys: Standbys, claim: (asks: Ask[]) => Promise<Begun[][]>, lane: Lane) {
    this.#standbys = standbys;
    this.#batcher = new Batcher((pending) => claimRest(pending, claim), lane);
  }

  ask(ask: Ask): Promise<Begun[]> {
    const { promise, resolve, reject } = Promise.withResolvers<Begun[]>();
    const pending: Pending = { ask, leave: () => {} };
    const receive = async (jobs: Promise<Claimed[]>) => {
      const begun = (await jobs).map(({ job, body }) => ({ job, body: body as string, bytes: 0 }));
      if (begun.length > 0) resolve(begun);
      return begun;
    };
    if (isPlain(ask)) {
      const { endpoint, holder, limit, now } = ask;
      const begin = (jobs: Promise<Claimed[]>) => {
        pending.begun = receive(jobs);
      };
      pending.leave = this.#standbys.add({ endpoint, holder, limit, begin, now: () => now, isOpen: () => true });
    }
    this.#batcher.ask(pending).then(resolve, reject);
    return promise;
  }

  idle(): Promise<void> {
    return this.#batcher.idle();
  }
}

const isPlain = ({ inTurns, of, limit }: Ask) => !inTurns && of === undefined && limit > 0;

/** What was inserted before this turn is settled, so nothing of it is waited for. */
async function claimRest(pending: Pending[], claim: (asks: Ask[]) => Promise<Begun[][]>): Promise<Begun[][]> {
  for (const { leave } of pending) leave();
  const begun = await Promise.all(pending.map((one) => one.begun ?? []));
  const rest = pending.filter((_, i) => begun[i]!.length === 0);
  const claimed = rest.length > 0 ? await claim(rest.map(({ ask }) => ask)) : [];
  for (const [i, one] of rest.entries()) begun[pending.indexOf(one)] = claimed[i]!;
  return begun;
}
