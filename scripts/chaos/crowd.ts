/** Those who use three nodes while they fail: each asks any node, another one if it gets no answer, and keeps what was acknowledged. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { stay } from "../../platform/src/kernel/clock.ts";
import type { SeededRandom } from "../../platform/src/kernel/random.ts";
import { type Answer, call } from "../../platform/tests/world.ts";
import { type Ask, JobLedger } from "../soak/ledger.ts";

const ANSWER_MS = 20_000;
/** Troubles overlap, but no more than two minutes go by without a node that can answer. */
const PATIENCE_MS = 6 * 60_000;
const PAUSE_MS = 200;
const OVERDUE_MS = 15 * 60_000;
/** The one address of this machine that webhooks may reach. */
export const WEBHOOK_HOST = "127.0.0.9";

export interface CrowdParts {
  urls: readonly string[];
  key: string;
  chance: SeededRandom;
  isOver(): boolean;
}

/** What somebody knows of a Pod or secret: what was acknowledged, and what was asked for without an answer. */
interface Known {
  id: string;
  acknowledged: string;
  pending?: string;
}

export class Crowd implements AsyncDisposable {
  readonly ledger: JobLedger;
  readonly pods = new Map<string, Known>();
  readonly removedPods: string[] = [];
  readonly secrets = new Map<string, Known>();
  /** What the webhook of each job said. */
  readonly told = new Map<string, Set<string>>();
  readonly answers: Record<string, number> = {};
  readonly wrong: string[] = [];
  readonly #parts: CrowdParts;
  readonly #webhooks = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    request.on("end", () => {
      const { id, status } = JSON.parse(text);
      this.told.set(id, (this.told.get(id) ?? new Set()).add(status));
      response.end();
    });
  });

  constructor(parts: CrowdParts) {
    this.#parts = parts;
    this.ledger = new JobLedger(this.askOn, OVERDUE_MS);
  }

  async open(): Promise<void> {
    await once(this.#webhooks.listen(0, WEBHOOK_HOST), "listening");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#webhooks.closeAllConnections();
    this.#webhooks.close();
  }

  /** One request to any node. Undefined if it was not answered, or if the node could not do it at the moment. */
  async ask(method: string, path: string, body?: unknown): Promise<Answer | undefined> {
    const { urls, chance, key } = this.#parts;
    const url = urls[chance.below(urls.length)]!;
    try {
      const answer = await call(url, method, path, { key, body, signal: AbortSignal.timeout(ANSWER_MS) });
      this.#count(`${answer.status}`);
      if (answer.status === 500) this.#note(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
      return answer.status < 500 ? answer : undefined;
    } catch (error) {
      this.#count((error as Error).name === "TimeoutError" ? "no answer in 20 s" : "connection refused or broken");
      return undefined;
    }
  }

  /** Asks until a node answers. Repeats what may have been done, so it is for calls that can be repeated. */
  askOn: Ask = async (method, path, body) => {
    for (const until = performance.now() + PATIENCE_MS; performance.now() < until; await stay(PAUSE_MS)) {
      const answer = await this.ask(method, path, body);
      if (answer) return answer;
    }
    throw new Error(`no node answered ${method} ${path} for ${PATIENCE_MS / 60_000} minutes`);
  };

  /** One request to one node. */
  askAt(url: string, method: string, path: string): Promise<Answer> {
    return call(url, method, path, { key: this.#parts.key, signal: AbortSignal.timeout(ANSWER_MS) });
  }

  /** Submits jobs with a pause between them. */
  async submit(endpoint: string, pauseMs: number): Promise<void> {
    const { chance, isOver } = this.#parts;
    const { port } = this.#webhooks.address() as AddressInfo;
    const webhook = `http://${WEBHOOK_HOST}:${port}/`;
    while (!isOver()) {
      const input = { ms: chance.below(8) === 0 ? chance.below(4_000) : chance.below(100) };
      const answer = await this.ask("POST", `/v2/${endpoint}/run`, { input, webhook });
      if (answer?.status === 200) {
        this.ledger.accepted(endpoint, answer.json.id);
        if (chance.below(20) === 0) await this.ask("POST", `/v2/${endpoint}/cancel/${answer.json.id}`);
      } else if (answer) this.#note(`/run: ${answer.status} ${answer.text.slice(0, 300)}`);
      await stay(pauseMs);
    }
  }

  async useApplication(endpoint: string, pauseMs: number): Promise<void> {
    while (!this.#parts.isOver()) {
      const answer = await this.ask("GET", `/v2/${endpoint}/hello`);
      if (answer && ![200, 429].includes(answer.status))
        this.#note(`application: ${answer.status} ${answer.text.slice(0, 300)}`);
      await stay(pauseMs);
    }
  }

  async writeSecrets(): Promise<void> {
    const { chance, isOver } = this.#parts;
    for (let version = 1; !isOver(); version++) {
      const known = [...this.secrets.values()];
      if (known.length < 20) await this.#makeSecret(`s_${version}_${chance.below(1_000_000)}`);
      else await this.#change(known[chance.below(known.length)]!, `version ${version}`);
      await stay(500);
    }
  }

  async #makeSecret(name: string): Promise<void> {
    const answer = await this.ask("POST", "/v2/account/secrets", { name, value: "v", description: name });
    if (answer?.status === 201) this.secrets.set(answer.json.id, { id: answer.json.id, acknowledged: name });
    else if (answer) this.#note(`secret: ${answer.status} ${answer.text.slice(0, 300)}`);
  }

  async #change(known: Known, description: string): Promise<void> {
    // An earlier change without an answer may still happen, or may have happened.
    if (known.pending !== undefined) return this.#settle(known);
    known.pending = description;
    const answer = await this.ask("PATCH", `/v2/account/secrets/${known.id}`, { description });
    if (!answer) return;
    if (answer.status === 200) known.acknowledged = description;
    else this.#note(`secret ${known.id}: ${answer.status} ${answer.text.slice(0, 300)}`);
    delete known.pending;
  }

  async #settle(known: Known): Promise<void> {
    const answer = await this.ask("GET", `/v2/account/secrets/${known.id}`);
    if (!answer) return;
    const seen = answer.json?.description;
    if (seen !== known.acknowledged && seen !== known.pending)
      this.#note(`secret ${known.id} says ${seen ?? answer.text}, and not ${known.acknowledged} or ${known.pending}`);
    else known.acknowledged = seen;
    delete known.pending;
  }

  /** Makes, stops, starts and deletes Pods. What was acknowledged is what the Pod must be in the end. */
  async keepPods(body: object, atMost: number): Promise<void> {
    const { chance, isOver } = this.#parts;
    while (!isOver()) {
      const all = [...this.pods.values()];
      const pod = all[chance.below(Math.max(1, all.length))];
      if (!pod || (all.length < atMost && chance.below(2) === 0)) await this.#makePod(body);
      else if (chance.below(3) === 0) await this.removePod(pod);
      else await this.#act(pod, chance.below(2) === 0 ? "stop" : "start");
      await stay(4_000 + chance.below(8_000));
    }
  }

  async #makePod(body: object): Promise<void> {
    const answer = await this.ask("POST", "/v2/pods", body);
    if (answer?.status === 201) this.pods.set(answer.json.id, { id: answer.json.id, acknowledged: "start" });
    // While every machine is silent there is no place for a Pod, and nothing is promised.
    else if (answer?.status === 400 && answer.text.includes("No capacity: ")) this.#count("no place for a Pod");
    else if (answer) this.#note(`Pod: ${answer.status} ${answer.text.slice(0, 300)}`);
  }

  async #act(pod: Known, action: string): Promise<void> {
    const answer = await this.ask("POST", `/v2/pods/${pod.id}/action`, { action });
    if (!answer) pod.pending = action;
    else if (answer.status === 200) {
      pod.acknowledged = action;
      delete pod.pending;
    } else if (answer.status !== 409 && answer.status !== 400)
      this.#note(`Pod ${pod.id}, ${action}: ${answer.status} ${answer.text.slice(0, 300)}`);
  }

  async removePod(pod: Known): Promise<void> {
    const { status, text } = await this.askOn("DELETE", `/v2/pods/${pod.id}`);
    if (status !== 204 && status !== 404) this.#note(`Pod ${pod.id}, delete: ${status} ${text.slice(0, 300)}`);
    this.pods.delete(pod.id);
    this.removedPods.push(pod.id);
  }

  /** Finds Pods that were made although the answer was lost, so nobody knew that they run. Returns how many there are. */
  async findPods(): Promise<number> {
    const { json } = await this.askOn("GET", "/v2/pods");
    const listed = (json.pods as { id: string }[]).map(({ id }) => id);
    for (const id of listed.filter((id) => this.removedPods.includes(id))) this.#note(`Pod ${id} was deleted: listed`);
    const found = listed.filter((id) => !this.pods.has(id));
    for (const id of found) this.pods.set(id, { id, acknowledged: "start" });
    return found.length;
  }

  #count(outcome: string): void {
    this.answers[outcome] = (this.answers[outcome] ?? 0) + 1;
  }

  #note(what: string): void {
    this.wrong.push(what);
    console.log(`WRONG: ${what}`);
  }
}
