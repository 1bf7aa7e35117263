/** Plans for many endpoints a few at a time, accounts in turn. An endpoint that is woken meanwhile waits for those few only. */
import type { Item } from "../../../ports/store/collection.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import { Agenda } from "./agenda.ts";
import type { EndpointBook } from "./endpoint-book.ts";
import type { Planner, Survey, View } from "./planner.ts";
import { Resting } from "./resting.ts";

/** The endpoints of one round. Each takes microseconds, unless there is something to write. */
const AT_A_TIME = 32;

export interface RoundParts {
  planner: Planner;
  book: EndpointBook;
  /** Called after these endpoints were planned for. */
  planned: (endpoints: readonly Item<KeptEndpoint>[], survey: Survey) => Promise<void>;
}

export class Rounds {
  readonly #parts: RoundParts;
  readonly #agenda = new Agenda();
  /** Endpoints that were at rest when they were last planned for. While they are, there is nothing to plan or to note. */
  readonly #resting = new Resting();
  #survey: Survey | undefined;
  /** Made from the survey for the first endpoint that is planned for: it costs more than to see that all are at rest. */
  #view: View | undefined;

  constructor(parts: RoundParts) {
    this.#parts = parts;
  }

  /** Adds all endpoints that need a look, with a new view. */
  sweep(endpoints: Iterable<string>, survey: Survey): void {
    this.#look(survey);
    this.#resting.lookAt(survey, this.#parts.planner.restIn(survey));
    const { book } = this.#parts;
    if (this.#resting.areAllStill(book.edition)) return;
    let areAtRest = true;
    for (const id of endpoints)
      if (!this.#resting.isStill(id, book.known(id))) {
        areAtRest = false;
        this.#agenda.add(this.#accountOf(id), id);
      }
    this.#resting.noteAll(book.edition, areAtRest);
  }

  /** Adds endpoints that something happened to before the view was taken. That may also have made room for others. */
  wake(endpoints: Iterable<string>, survey: Survey): void {
    this.#look(survey);
    for (const id of endpoints) this.#agenda.wake(this.#accountOf(id), id);
    for (const id of endpointsWithoutRoom(survey)) this.#agenda.add(this.#accountOf(id), id);
  }

  /** Forgets everything, because another node plans. */
  drop(): void {
    this.#agenda.clear();
    this.#resting.clear();
  }

  /** Plans for the next few endpoints. Returns whether there are more. */
  async next(): Promise<boolean> {
    const survey = this.#survey;
    if (!survey || this.#agenda.isEmpty) return false;
    this.#view ??= this.#parts.planner.begin(survey);
    const view = this.#view;
    const ids = this.#agenda.take(AT_A_TIME);
    const found = await Promise.all(ids.map((id) => this.#parts.book.find(id)));
    const endpoints = found.filter((one) => one !== undefined);
    const deleted = ids.filter((_, i) => !found[i]);
    await this.#parts.planner.endAll(deleted.flatMap((id) => view.survey.workers.get(id) ?? []));
    await this.#parts.planner.plan(endpoints, view);
    await this.#parts.planned(endpoints, survey);
    const isAtRest = this.#parts.planner.restIn(survey);
    for (const id of deleted) this.#resting.forget(id);
    for (const endpoint of endpoints)
      if (isAtRest(endpoint)) this.#resting.note(endpoint, survey);
      else this.#resting.forget(endpoint.id);
    return !this.#agenda.isEmpty;
  }

  #look(survey: Survey): void {
    this.#survey = survey;
    this.#view = undefined;
  }

  /** Endpoints whose account is not known yet, or no longer, share a turn. */
  #accountOf(id: string): string {
    return this.#parts.book.known(id)?.account ?? this.#survey!.workers.get(id)?.[0]?.account ?? "";
  }
}

/** The endpoints whose workers wait for room. Anything that happens may have made room for them. */
const endpointsWithoutRoom = ({ workers }: Survey) =>
  [...workers].filter(([, own]) => own.some(({ doc }) => doc.state === "WANTED")).map(([endpoint]) => endpoint);
