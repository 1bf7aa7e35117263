/** Simulated clients: they submit, wait, read, cancel, retry, purge and shorten, and record what they see. */
import type { Submission } from "../../src/jobs/engine.ts";
import type { View } from "./history.ts";
import { type Answer, Process, request } from "./network.ts";
import type { Input } from "./workers.ts";
import type { World } from "./world.ts";

const PATIENCE_MS = 20_000;
const KEYS = 5;
/** Most requests concern one of the newest jobs, where most happens. */
const NEWEST = 6;
/** Longer than a run, so that this timeout never ends a job that nobody works on. */
const ENDPOINT_TIMEOUT_MS = 7_200_000;

export class Client extends Process {
  begin(): void {
    void this.#live();
  }

  /** Reads one job and records what it shows. */
  async look(endpoint: string, id: string): Promise<void> {
    await this.#ask(id, (server) => server.read(endpoint, id));
  }

  async #live(): Promise<void> {
    const { random, mix } = this.world;
    for (;;) {
      await this.sleep(random.below(mix.restMs));
      await this.#act(drawn(this.world, mix.requests));
    }
  }

  async #act(what: keyof World["mix"]["requests"]): Promise<void> {
    const { random, history, ledger, trace, mix } = this.world;
    const isEnough = ledger.tracks.size >= mix.mostJobs && what.startsWith("submit");
    if (isEnough) return;
    if (what === "submit" || what === "submitAndWait") return this.#submit(what === "submitAndWait");
    const id = random.pick([...history.accepted].slice(-NEWEST));
    if (id === undefined) return;
    const { endpoint } = ledger.track(id);
    trace.note(`${this.name} asks: ${what}`, id);
    switch (what) {
      case "read":
        return this.#ask(id, (server) => server.read(endpoint, id));
      case "cancel":
        return this.#ask(id, (server) => server.cancel(endpoint, id));
      case "retry":
        return this.#ask(id, (server) => server.retry(endpoint, id));
      case "shorten": {
        const ttlMs = 1 + random.below(60_000);
        return this.#ask(id, (server) => server.shorten(endpoint, id, ttlMs));
      }
      case "purge":
        this.#refused(await request(this, (server) => server.purge(endpoint), PATIENCE_MS));
    }
  }

  async #ask(id: string, work: Parameters<typeof request<View>>[1]): Promise<void> {
    const sentAt = this.world.history.sent();
    const answer = await request(this, work, PATIENCE_MS);
    if (this.#refused(answer)) return;
    const { value } = answer as { value: View };
    if (value.id !== id) this.world.trace.broken(`was answered with ${value.id}`, id);
    this.world.history.seen(value, this.name, sentAt);
  }

  async #submit(waits: boolean): Promise<void> {
    const { random, history, mix } = this.world;
    const key = random.chance(mix.jobs.keyed) ? `key${random.below(KEYS)}` : undefined;
    const mode = waits ? random.pick(["runsync", "runsyncWithWait"] as const) : "run";
    const submission = this.#submission(mode, key);
    const waitMs = 1000 + random.below(30_000);
    // A client with an idempotency key may send the request again when there was no answer.
    for (let tries = key === undefined ? 1 : 3; tries > 0; tries--) {
      const sentAt = history.sent();
      const answer = await request(
        this,
        (server, gone) => (waits ? server.submitAndWait(submission, waitMs, gone) : server.submit(submission)),
        waits ? random.pick([waitMs / 2, waitMs + PATIENCE_MS]) : PATIENCE_MS,
      );
      if (this.#refused(answer)) continue;
      const { value } = answer as { value: View };
      history.acknowledged(value.id, key === undefined ? undefined : `${submission.endpoint.id}/${key}`, sentAt);
      return history.seen(value, this.name, sentAt);
    }
  }

  #submission(mode: Submission["mode"], key: string | undefined): Submission {
    const { random, mix } = this.world;
    const is = (kind: keyof World["mix"]["jobs"]) => random.chance(mix.jobs[kind]);
    // The same key always comes with the same body.
    const input: Input = key ? { talking: true } : { failing: is("failing"), long: is("long"), talking: is("talking") };
    const body = JSON.stringify({ input });
    return {
      endpoint: { id: random.pick(this.world.endpoints), executionTimeoutMs: ENDPOINT_TIMEOUT_MS },
      mode,
      body,
      terms: {
        errorRetries: random.below(3),
        lowPriority: is("low"),
        webhooks: [],
        hasCredential: false,
        ...(is("mortal") ? { ttlMs: 10_000 + random.below(30_000) } : {}),
        ...(is("hurried") ? { executionTimeoutMs: 5000 + random.below(10_000) } : {}),
      },
      ...(key === undefined ? {} : { idempotency: { key, digest: body } }),
    };
  }

  /** Two refusals are allowed: the disk is full, or the job cannot be retried. */
  #refused(answer: Answer<unknown>): boolean {
    if (answer === "lost") return true;
    if ("value" in answer) return false;
    const { code, detail } = answer.refused;
    const isAgreed = code === "wrong-state" || (code === "unavailable" && this.world.hadFullDisk);
    if (!isAgreed) this.world.trace.broken(`${this.name} was refused: ${detail}`);
    return true;
  }
}

function drawn<Name extends string>({ random }: World, weights: { [name in Name]: number }): Name {
  const names = Object.keys(weights) as Name[];
  let left = random.fraction() * names.reduce((sum, name) => sum + weights[name], 0);
  for (const name of names) {
    left -= weights[name];
    if (left < 0) return name;
  }
  return names[0]!;
}
