/** Generates thousands of requests as two accounts, and changes, sends, judges and counts them. */
import { stay } from "../../../src/kernel/clock.ts";
import { SeededRandom } from "../../../src/kernel/random.ts";
import { type Draft, type Scene, sentAs, validDraft, withPass } from "./draft.ts";
import { Connections, type Outcome } from "./exchange.ts";
import { Judge } from "./judge.ts";
import { note } from "./ledger.ts";
import { change } from "./mutations.ts";
import type { Person, Place } from "./population.ts";
import { render } from "./render.ts";
import { components, type Route, routes, thingNames, things } from "./routes.ts";
import { SchemaValues } from "./schema-values.ts";

export interface Campaign {
  place: Place;
  people: readonly [Person, Person];
  /** The seeds are used in turn. */
  seeds: readonly number[];
  /** How many requests are under way at once. */
  together: number;
  /** The pause between an answer and the next request. */
  pauseMs?: number;
  /** Called when a defect is first seen. */
  found?: ((defect: Defect) => void) | undefined;
}

export interface Defect {
  what: string;
  times: number;
  /** The first request that showed the defect, and its answer. */
  example: string;
}

export interface Tally {
  sent: number;
  /** Counts by status, or by how the exchange ended without one. */
  outcomes: Record<string, number>;
  byRoute: Record<string, number>;
  defects: Map<string, Defect>;
  slowestMs: number;
  slowest: string;
  removed: Map<Person, Set<string>>;
}

const GOLDEN = 0x9e3779b1;
/** Now and then a request is waited for this many times as long as others. */
const RARELY = 15;
/** When an account owns more than this, things are removed until it owns fewer. */
const MOST_OWNED = 25;

export class Requests implements Disposable {
  readonly tally: Tally;
  readonly #campaign: Campaign;
  readonly #connections: Connections;
  readonly #judge = new Judge();
  readonly #scene: Scene;
  #next = 0;

  constructor(campaign: Campaign) {
    const { place, seeds, people } = campaign;
    const seed = seeds[0]!;
    this.#campaign = campaign;
    this.#connections = new Connections(Number(new URL(place.url).port));
    const chance = new SeededRandom(seed);
    this.#scene = { place, chance, values: new SchemaValues(components, chance, seed) };
    const removed = new Map(people.map((person) => [person, new Set<string>()]));
    this.tally = { sent: 0, outcomes: {}, byRoute: {}, defects: new Map(), slowestMs: 0, slowest: "", removed };
  }

  /** Sends this many requests, or stops earlier when `isOver` returns true. */
  async send(count: number, isOver = () => false): Promise<void> {
    const until = this.#next + count;
    const { together, pauseMs = 0 } = this.#campaign;
    const one = async () => {
      while (this.#next < until && !isOver()) {
        await this.#one(this.#next++);
        if (pauseMs > 0) await stay(pauseMs);
      }
    };
    await Promise.all(Array.from({ length: together }, one));
  }

  [Symbol.dispose](): void {
    this.#connections[Symbol.dispose]();
  }

  async #one(index: number): Promise<void> {
    const { people, seeds, place } = this.#campaign;
    const { chance } = this.#scene;
    // Each request has a seed of its own, so that it does not depend on how many came before.
    chance.reseed(seeds[index % seeds.length]! ^ Math.imul(index + 1, GOLDEN));
    const [person, other] = chance.chance(0.5) ? people : ([people[1], people[0]] as const);
    const draft = this.#drafted(person, other);
    withPass(draft, place);
    const share = chance.chance(0.02) ? RARELY : chance.fraction();
    const outcome = await this.#connections.exchange(render(draft, share));
    this.#count(draft, outcome);
    for (const what of this.#judge.faultsOf(draft, outcome, other)) this.#blame(draft, outcome, what, index);
    note(draft, outcome, this.tally.removed.get(person)!);
  }

  #drafted(person: Person, other: Person): Draft {
    const { chance } = this.#scene;
    const due = removalDue(person);
    if (due) return validDraft(this.#scene, due, person);
    const draft = validDraft(this.#scene, chance.pick(routes), person);
    const count = chance.pick([0, 1, 1, 1, 1, 1, 1, 2, 2, 3]);
    for (let i = 0; i < count; i++) change(draft, this.#scene, other);
    spare(draft);
    return draft;
  }

  #count({ route, changes }: Draft, outcome: Outcome): void {
    const { tally } = this;
    const key = outcome.kind === "answered" ? `${outcome.answer.status}` : outcome.kind;
    tally.sent++;
    tally.outcomes[key] = (tally.outcomes[key] ?? 0) + 1;
    tally.byRoute[route.name] = (tally.byRoute[route.name] ?? 0) + 1;
    if (outcome.kind !== "answered" || route.mayLast || outcome.ms <= tally.slowestMs) return;
    tally.slowestMs = outcome.ms;
    tally.slowest = `${route.name}, changed: ${changes.join(", ") || "nothing"}`;
  }

  #blame(draft: Draft, outcome: Outcome, what: string, index: number): void {
    const known = this.tally.defects.get(what);
    if (known) {
      known.times++;
      return;
    }
    const defect = { what: `${draft.route.name} ${what}`, times: 1, example: told(draft, outcome, index) };
    this.tally.defects.set(what, defect);
    this.#campaign.found?.(defect);
  }
}

function removalDue({ owns }: Person): Route | undefined {
  const named = thingNames.find((named) => owns[named].length > MOST_OWNED);
  return named && routes.find(({ name }) => name === things[named].remove);
}

/** Keeps an account's request from changing the things that must stay. */
function spare(draft: Draft): void {
  const { person, route, isForeign } = draft;
  const { kept } = person;
  const { methods, target } = sentAs(draft);
  if (isForeign || ![kept.endpoint, kept.secret, kept.apiKey].some((id) => target.includes(id))) return;
  if (methods.every((method) => method === route.method)) return;
  draft.method = route.method;
  draft.raw = undefined;
}

const CLIP = 1200;

function told(draft: Draft, outcome: Outcome, index: number): string {
  const { bytes } = render(draft, 0);
  const answer =
    outcome.kind === "answered"
      ? `${outcome.answer.status} ${outcome.answer.text.slice(0, CLIP)}`
      : JSON.stringify(outcome);
  return `request ${index}, ${bytes.length} bytes, changed: ${draft.changes.join(", ") || "nothing"}\n${bytes.toString("latin1").slice(0, CLIP)}\n-> ${answer}`;
}
