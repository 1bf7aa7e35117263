/** What the catalogue of reasons knows of one code. */

/** What a reason is about: a few bounded values, and never a secret. */
export type Facts = Record<string, string | number>;

export interface Entry<F extends Facts = never> {
  /** What is the case, for the documents. */
  means: string;
  /** What its reader can do about it, for the documents and for a console. */
  remedy: string;
  /**
   * The sentence, worded here and nowhere else. `about` is the text of the cause, or the words of a program; it is absent where
   * the reader may not see those words. Absent for codes whose makers alone know what happened, such as drivers.
   */
  text?: (facts: F, about: string | undefined) => string;
}

/** An entry whose sentence is made from these facts. */
export const worded = <F extends Facts = Record<never, never>>(entry: Required<Entry<F>>): Required<Entry<F>> => entry;

/** An entry whose sentence is that of whoever makes the reason. */
export const told = (means: string, remedy: string): Entry => ({ means, remedy });

/** A sentence, and after it what it is about, where that may be seen. */
export const after = (sentence: string, about: string | undefined, between = ": ") =>
  about === undefined ? sentence : `${sentence}${between}${about}`;
