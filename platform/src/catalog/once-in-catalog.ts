/** Computes a value from an object that never changes and from the catalog, once for each catalog in force. */
import type { Catalog } from "./catalog.ts";
import { installedCatalog } from "./compute.ts";

/** `keyOf` names the part of the object that stays the same when the rest is made anew. */
export function onceInCatalog<K, V>(make: (of: K, catalog: Catalog) => V, keyOf: (of: K) => object): (of: K) => V {
  const made = new WeakMap<object, { catalog: Catalog; value: V }>();
  return (of) => {
    const catalog = installedCatalog();
    const key = keyOf(of);
    const before = made.get(key);
    if (before?.catalog === catalog) return before.value;
    const value = make(of, catalog);
    made.set(key, { catalog, value });
    return value;
  };
}
