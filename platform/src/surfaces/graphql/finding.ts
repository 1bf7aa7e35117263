/** Shared by the fields that look something up, with the literal messages that clients compare when nothing is found. */
import { isProblem, type Meaning, type Problem } from "../../kernel/problem.ts";
import type { Literal } from "./refusals.ts";

/** GraphQL has no pages, so one read returns more than an account may have of anything. */
export const ALL_OF_AN_ACCOUNT = { after: undefined, limit: 100_000 } as const;

/** Null if the thing does not exist, or if the caller may not know of it. */
export async function orNull<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found;
  } catch (error) {
    if (isProblem(error, "not-found")) return null;
    throw error;
  }
}

/** Answers a refusal of this meaning with a literal that clients compare. */
export const literally = (meaning: Meaning, literal: Literal) => (refusal: Problem) =>
  refusal.code === meaning ? literal : undefined;
