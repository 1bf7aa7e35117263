/** Latencies in buckets that grow with the value, accurate to about 1% at any size. */

const GROWTH = Math.log(1.01);
const SMALLEST_MS = 0.01;
const BUCKETS = 2048;

export class Histogram {
  readonly #counts = new Uint32Array(BUCKETS);
  #total = 0;
  #max = 0;

  record(ms: number): void {
    const bucket = ms <= SMALLEST_MS ? 0 : Math.ceil(Math.log(ms / SMALLEST_MS) / GROWTH);
    this.#counts[Math.min(bucket, BUCKETS - 1)]!++;
    this.#total++;
    if (ms > this.#max) this.#max = ms;
  }

  summary(): { p50: number; p95: number; p99: number; p999: number; max: number } {
    return {
      p50: this.#quantile(0.5),
      p95: this.#quantile(0.95),
      p99: this.#quantile(0.99),
      p999: this.#quantile(0.999),
      max: this.#max,
    };
  }

  clear(): void {
    this.#counts.fill(0);
    this.#total = 0;
    this.#max = 0;
  }

  #quantile(share: number): number {
    let left = this.#total * share;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      left -= this.#counts[bucket]!;
      if (left <= 0) return Math.min(this.#max, SMALLEST_MS * Math.exp(bucket * GROWTH));
    }
    return this.#max;
  }
}
