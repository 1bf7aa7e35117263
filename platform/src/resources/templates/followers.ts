/** What follows templates, as templates know of it: whoever has such things registers, and is asked when a template is edited. */
import type { Caller } from "../../kernel/caller.ts";
import type { Write } from "../../ports/store/store.ts";
import type { TemplateTerms } from "./fields.ts";
import type { KeptTemplate } from "./model.ts";

/** A template as whoever may see it does. */
export interface SeenTemplate {
  id: string;
  doc: KeptTemplate;
  /** The endpoint whose own container this is: such a template is a view of it, is in no plain list, and goes with it. */
  boundTo?: string;
}

/** An edit of a template on its way to what follows it. */
export interface Reach {
  /** For the commit of the edit: what follows gets all of it, or the template keeps what it was. */
  writes: Write[];
  /** To be said once that is written. */
  written(): void;
}

export interface Followers {
  /** Gives the container of a template to what follows it. Throws where the caller may not, or one of them cannot have it. */
  reaching(caller: Caller, template: { id: string; account: string; doc: KeptTemplate }): Promise<Reach>;
  /** The own container of an endpoint that follows none, as a template under the endpoint's id. */
  own(caller: Caller, id: string): Promise<SeenTemplate | undefined>;
  /** All of those that the caller may see. */
  allOwn(caller: Caller): Promise<SeenTemplate[]>;
  /** Edits one by what is said of the template. */
  changeOwn(caller: Caller, id: string, terms: TemplateTerms): Promise<SeenTemplate | undefined>;
}

export const noFollowers: Followers = {
  reaching: async () => ({ writes: [], written: () => {} }),
  own: async () => undefined,
  allOwn: async () => [],
  changeOwn: async () => undefined,
};
