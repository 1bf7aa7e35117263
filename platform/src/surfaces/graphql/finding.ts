/** What fields have in common that find something, and what clients compare where there is none. */
import { isProblem, type Meaning, type Problem } from "../../kernel/problem.ts";
import type { Literal } from "./refusals.ts";

/** GraphQL has no pages: more than an account may have of anything, in one read. */
export const ALL_OF_AN_ACCOUNT = { after: undefined, limit: 100_000 } as const;

/** Null where there is no such thing, or none that the caller may know of. */
export async function orNull<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found;
  } catch (error) {
    if (isProblem(error, "not-found")) return null;
    throw error;
  }
}

/** A word that clients compare, for a refusal of this meaning. */
export const literally = (meaning: Meaning, literal: Literal) => (refusal: Problem) =>
  refusal.code === meaning ? literal : undefined;
