/** What is said, without what is only named. */
export const present = <T extends object>(terms: T): T =>
  Object.fromEntries(Object.entries(terms).filter(([, value]) => value !== undefined)) as T;
