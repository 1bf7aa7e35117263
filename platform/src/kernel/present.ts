/** Returns a copy without the fields whose value is undefined. */
export const present = <T extends object>(terms: T): T =>
  Object.fromEntries(Object.entries(terms).filter(([, value]) => value !== undefined)) as T;
