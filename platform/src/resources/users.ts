/** The one place that says which resources keep another one from being deleted, because they use it. */
import type { Kept } from "../kernel/document.ts";
import { Collection } from "../ports/store/collection.ts";
import type { Store } from "../ports/store/store.ts";
import { endpoints } from "./endpoints/model.ts";
import { pods } from "./pods/model.ts";
import type { Used, Users } from "./uses.ts";

/** The list key that finds the users of each kind. */
const KEYS: Record<Used, string> = { registry: "registry", template: "template", "network volume": "volume" };

export const usersIn = (store: Store): Users[] => [usersOf("endpoint", store, endpoints), usersOf("Pod", store, pods)];

/** Finds records that name a thing under its list key. */
function usersOf<T extends { name: string } & Record<string, unknown>>(
  what: string,
  store: Store,
  kept: Kept<T>,
): Users {
  const all = new Collection(store, kept);
  return {
    what,
    async of(used, { account, id }, limit) {
      const found = await all.list({ account, key: { name: KEYS[used], value: id }, limit });
      return found.map(({ id, doc }) => ({ id, name: doc.name }));
    },
  };
}
