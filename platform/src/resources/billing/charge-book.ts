/** What accounts owe for public endpoints. The queue adds it up as jobs end; this reads it. */
import type { Clock } from "../../kernel/clock.ts";
import { Remembered } from "../../kernel/remembered.ts";
import type { ChargeFilter, Charges, Queue } from "../../ports/queue/queue.ts";

const HOUR_MS = 3_600_000;
/** What ended meanwhile is seen after this time. */
const REMEMBERED_MS = 1000;

/** The start of the hour. Charges are kept by the hour. */
export const hourOf = (moment: number) => moment - (moment % HOUR_MS);

export class ChargeBook {
  readonly #clock: Clock;
  readonly #sums: Remembered<Promise<bigint>>;
  #read: (filter: ChargeFilter) => Promise<Charges[]> = async () => [];

  #readKey: Queue["chargedByKey"] = async () => 0;

  constructor({ clock }: { clock: Clock }) {
    this.#clock = clock;
    this.#sums = new Remembered(clock, REMEMBERED_MS);
  }

  /** Nothing is kept in the store. */
  async prepare(): Promise<void> {}

  /** Sets the queue to read from. A command without a queue sees no charges. */
  readFrom(queue: Pick<Queue, "charges"> & Partial<Pick<Queue, "chargedByKey">>): void {
    this.#read = (filter) => queue.charges(filter);
    this.#readKey = async (key, fromHour) => (await queue.chargedByKey?.(key, fromHour)) ?? 0;
  }

  within(filter: ChargeFilter): Promise<Charges[]> {
    return this.#read(filter);
  }

  /** The sum of an account in 1e-9 USD, from the hour of a moment on, at most a second old. */
  since(account: string, moment: number): Promise<bigint> {
    const from = hourOf(moment);
    return this.#remembered(`${account} ${from}`, () => this.between(account, from, Number.MAX_SAFE_INTEGER));
  }

  /** The same for an API key that has a spend limit. */
  ofKeySince(key: string, moment: number): Promise<bigint> {
    const from = hourOf(moment);
    return this.#remembered(`key ${key} ${from}`, async () => BigInt(await this.#readKey(key, from)));
  }

  #remembered(name: string, read: () => Promise<bigint>): Promise<bigint> {
    const known = this.#sums.get(name);
    if (known) return known;
    const sum = read();
    this.#sums.set(name, sum);
    sum.catch(() => this.#sums.delete(name));
    return sum;
  }

  /** The sum over the hours that begin within this time. */
  async between(account: string, from: number, to: number): Promise<bigint> {
    const charges = await this.#read({ caller: account, from, to });
    return charges.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  }

  /** The sum of the present hour. */
  ofThisHour(account: string): Promise<bigint> {
    const hour = hourOf(this.#clock.now());
    return this.between(account, hour, hour + 1);
  }
}
