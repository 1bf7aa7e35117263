/** Computes a value from an object that never changes once, and keeps it as long as the object lives. */

/** `keyOf` may name a part of the object that stays the same when the rest is made anew. */
export function onceFor<K extends object, V>(make: (of: K) => V, keyOf: (of: K) => object = (of) => of): (of: K) => V {
  const made = new WeakMap<object, V>();
  return (of) => {
    const key = keyOf(of);
    const known = made.get(key);
    if (known !== undefined) return known;
    const value = make(of);
    made.set(key, value);
    return value;
  };
}
