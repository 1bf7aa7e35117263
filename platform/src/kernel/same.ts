/** Tells whether two values are the same as JSON. The order of names does not matter, nor do names whose value is undefined. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (Array.isArray(one) || Array.isArray(other))
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, i) => isSame(item, other[i]))
    );
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  const [mine, its] = [one, other] as [Record<string, unknown>, Record<string, unknown>];
  return Object.keys({ ...mine, ...its }).every((name) => isSame(own(mine, name), own(its, name)));
}

/** Inherited names of the language, such as `constructor`, do not count as entries of a map. */
const own = (map: Record<string, unknown>, name: string) => (Object.hasOwn(map, name) ? map[name] : undefined);

/** Returns the fields whose new value differs from the old one. */
export function changedIn<T extends object>(before: T, said: Partial<T>): Partial<T> {
  const changed = Object.entries(said).filter(([name, value]) => !isSame(value, before[name as keyof T]));
  return Object.fromEntries(changed) as Partial<T>;
}

export const isEmpty = (map: object): boolean => Object.keys(map).length === 0;
