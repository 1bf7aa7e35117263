/** Lets services register what follows templates. Templates ask them when a template is edited. */
import type { Caller } from "../../kernel/caller.ts";
import type { Write } from "../../ports/store/store.ts";
import type { TemplateTerms } from "./fields.ts";
import type { KeptTemplate } from "./model.ts";

/** A template as a caller with access to it sees it. */
export interface SeenTemplate {
  id: string;
  doc: KeptTemplate;
  /**
   * The endpoint whose own container this template shows. The template is only a view: plain lists leave it out, and it is deleted with the
   * endpoint.
   */
  boundTo?: string;
}

/** An edit of a template on its way to the things that follow it. */
export interface Reach {
  /** Part of the commit of the edit: either all followers get the edit, or the template does not change. */
  writes: Write[];
  /** The caller calls this after the commit. */
  written(): void;
}

export interface Followers {
  /**
   * Passes a template's container on to everything that follows it. Throws if the caller may not do that, or if a follower cannot take it.
   */
  reaching(caller: Caller, template: { id: string; account: string; doc: KeptTemplate }): Promise<Reach>;
  /** The own container of an endpoint that follows no template, shown as a template under the endpoint's id. */
  own(caller: Caller, id: string): Promise<SeenTemplate | undefined>;
  /** All own containers of endpoints that the caller may see. */
  allOwn(caller: Caller): Promise<SeenTemplate[]>;
  /** Applies a change of the template to the endpoint's own container. */
  changeOwn(caller: Caller, id: string, terms: TemplateTerms): Promise<SeenTemplate | undefined>;
}

export const noFollowers: Followers = {
  reaching: async () => ({ writes: [], written: () => {} }),
  own: async () => undefined,
  allOwn: async () => [],
  changeOwn: async () => undefined,
};
