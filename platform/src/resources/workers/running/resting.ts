/** Remembers what endpoints at rest looked like. While that is unchanged, they are not examined again. */
import type { Item } from "../../../ports/store/collection.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import type { WorkerItem } from "./plan.ts";
import type { Survey } from "./planner.ts";

/** The records that an endpoint's rest was seen from. Records are replaced and never changed, so the same object says the same. */
interface Rest {
  endpoint: Item<KeptEndpoint>;
  workers: readonly WorkerItem[];
  machines: string | undefined;
}

type RestSurvey = Pick<Survey, "workers" | "demand" | "live" | "roll">;

const NO_WORKERS: readonly WorkerItem[] = [];

/** All that a look at every endpoint depends on. */
interface Look {
  endpoints: object;
  workers: object;
  machines: string | undefined;
}

export class Resting {
  readonly #rests = new Map<string, Rest>();
  /** The last look, if all endpoints were at rest in it. */
  #calm: Look | undefined;
  #survey: RestSurvey | undefined;
  #isAtRest: (endpoint: Item<KeptEndpoint>) => boolean = () => false;
  #machines: string | undefined;

  /** Begins a look at the endpoints. `isAtRest` examines one that is not as it was. */
  lookAt(survey: RestSurvey, isAtRest: (endpoint: Item<KeptEndpoint>) => boolean): void {
    this.#machines = standingOf(survey);
    this.#survey = survey;
    this.#isAtRest = isAtRest;
  }

  /**
   * Whether all endpoints are at rest as they were, so that none has to be looked at. `endpoints` is another object when one of them has
   * changed.
   */
  areAllStill(endpoints: object): boolean {
    const { demand, live, workers } = this.#survey!;
    const calm = this.#calm;
    if (demand.size > 0 || live.withStrangers.size > 0 || this.#machines === undefined) return false;
    return calm?.endpoints === endpoints && calm.workers === workers && calm.machines === this.#machines;
  }

  /** Notes whether all endpoints were at rest in this look. */
  noteAll(endpoints: object, areAtRest: boolean): void {
    this.#calm = areAtRest ? { endpoints, workers: this.#survey!.workers, machines: this.#machines } : undefined;
  }

  /** Whether an endpoint that was at rest still is. */
  isStill(id: string, endpoint: Item<KeptEndpoint> | undefined): boolean {
    const rest = this.#rests.get(id);
    const survey = this.#survey;
    if (!rest || !endpoint || !survey) return false;
    const workers = survey.workers.get(id) ?? NO_WORKERS;
    const isAlone = !survey.demand.has(id) && !survey.live.withStrangers.has(id);
    const areMachinesSame = this.#machines !== undefined && rest.machines === this.#machines;
    if (isAlone && areMachinesSame && rest.endpoint === endpoint && areSame(rest.workers, workers)) return true;
    if (!this.#isAtRest(endpoint)) return false;
    this.#rests.set(id, { endpoint, workers, machines: this.#machines });
    return true;
  }

  note(endpoint: Item<KeptEndpoint>, survey: RestSurvey): void {
    const workers = survey.workers.get(endpoint.id) ?? NO_WORKERS;
    this.#rests.set(endpoint.id, { endpoint, workers, machines: standingOf(survey) });
  }

  forget(id: string): void {
    this.#calm = undefined;
    this.#rests.delete(id);
  }

  clear(): void {
    this.#calm = undefined;
    this.#rests.clear();
  }
}

/** Which machines there are and which are being drained. Undefined while one is silent, since time alone then changes what is known. */
function standingOf({ roll: { machines, silent } }: Pick<Survey, "roll">): string | undefined {
  if (silent.size > 0) return undefined;
  return JSON.stringify(machines.map(({ id, isDraining = false }) => [id, isDraining]));
}

const areSame = (some: readonly WorkerItem[], others: readonly WorkerItem[]) =>
  some === others || (some.length === others.length && some.every((worker, i) => worker === others[i]));
