/** Outputs that are too long for a record: the link that replaces each of them, and reading what it leads to. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { problem } from "../kernel/problem.ts";
import { type Job, jobLifecycle, type LargeOutput } from "../ports/queue/job.ts";
import type { Queue } from "../ports/queue/queue.ts";
import type { Vault } from "../ports/vault/vault.ts";
import type { Engine } from "./engine.ts";

/** The record shows this as its `output`. It is an object, so that a client that reads a field of the output does not fail. */
export interface OutputLink {
  url: string;
  bytes: number;
}

/** Names the output that a request asks for. */
export interface OutputAsk {
  endpoint: string;
  job: string;
  /** The run that must have made the output, if the link names one. */
  attempt: number | undefined;
}

export interface OutputParts {
  engine: Engine;
  queue: Queue;
  vault: Vault;
  /** Returns the beginning of the URLs of an endpoint's operations. */
  urlOf: (endpoint: string) => string;
}

export class Outputs {
  readonly #engine: Engine;
  readonly #queue: Queue;
  readonly #urlOf: OutputParts["urlOf"];
  /** There is one key per master key, so that links made before a rotation still work after it. */
  readonly #keys: readonly Uint8Array[];

  constructor({ engine, queue, vault, urlOf }: OutputParts) {
    this.#engine = engine;
    this.#queue = queue;
    this.#urlOf = urlOf;
    this.#keys = vault.keysFor("output links");
  }

  /** A client needs no API key with this link. It opens this output of this run for as long as the result is kept. */
  link({ id, endpoint, fare, attempt, large }: Job): OutputLink | undefined {
    if (!large) return undefined;
    // Guests do not learn the endpoint's id.
    const address = fare?.share ?? endpoint;
    const signature = signed(this.#keys[0]!, { endpoint: address, job: id, attempt });
    return {
      url: `${this.#urlOf(address)}/output/${id}?attempt=${attempt}&signature=${signature}`,
      bytes: large.bytes,
    };
  }

  /** Reports whether this installation signed a link to this output. The output itself may be gone. */
  isSigned(ask: OutputAsk, signature: string): boolean {
    return this.#keys.some((key) => isSame(signed(key, ask), signature));
  }

  async find({ endpoint, job: id, attempt }: OutputAsk): Promise<Job & { large: LargeOutput }> {
    const { job } = await this.#engine.read(endpoint, id);
    const { large } = job;
    if (large && (attempt === undefined || attempt === job.attempt)) return { ...job, large };
    throw problem("not-found", `output not found: ${whyNot(job)}; see /status/${id}`);
  }

  /** Opens a range of the output, counted from its first byte. */
  async open(
    { id, large }: Job & { large: LargeOutput },
    from = 0,
    bytes = large.bytes,
  ): Promise<AsyncIterable<Uint8Array>> {
    const pieces = await this.#queue.outputs.open(id, { key: large.key, start: large.start + from, bytes });
    if (!pieces) throw problem("not-found", "output not found: it was removed a moment ago");
    return pieces;
  }
}

function whyNot({ large, retried, state }: Job): string {
  if (large || retried > 0) return "the job was run again";
  return jobLifecycle.isFinal(state) ? "the output of this job stands in its record" : "the job has not ended";
}

const signed = (key: Uint8Array, { endpoint, job, attempt }: OutputAsk) =>
  createHmac("sha256", key).update(`${endpoint}\n${job}\n${attempt}`).digest("base64url");

function isSame(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  return one.length === other.length && timingSafeEqual(one, other);
}
