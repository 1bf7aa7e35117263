/** What is made of something that never changes is made once, and kept as long as that is. */

/** By the object itself, or by the part of it that stays when the rest is made anew. */
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
