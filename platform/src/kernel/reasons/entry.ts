/** What the catalogue of reasons holds for one code. */

/** The values that a reason is about: a few, bounded, and never a secret. */
export type Facts = Record<string, string | number>;

export interface Entry<F extends Facts = never> {
  /** What the code means, for the documentation. */
  means: string;
  /** What the reader can do about it, for the documentation and for a console. */
  remedy: string;
  /**
   * Makes the sentence; it is worded only here. `about` is the text of the cause, or the words of a program; it is absent when the reader
   * may not see those words. The function is absent for codes where only the maker, such as a driver, knows what happened.
   */
  text?: (facts: F, about: string | undefined) => string;
}

/** An entry whose sentence is made from these facts. */
export const worded = <F extends Facts = Record<never, never>>(entry: Required<Entry<F>>): Required<Entry<F>> => entry;

/** An entry whose sentence comes from the code that makes the reason. */
export const told = (means: string, remedy: string): Entry => ({ means, remedy });

/** Appends what the sentence is about, if the reader may see that. */
export const after = (sentence: string, about: string | undefined, between = ": ") =>
  about === undefined ? sentence : `${sentence}${between}${about}`;
