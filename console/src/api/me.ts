/** Who is signed in, and what they may do. */
import { allows, type Scope } from "@millrace/platform/kernel/scope.ts";
import { createContext, useContext } from "react";
import type { Answer } from "./client.ts";
import { useRead } from "./queries.ts";

export type Me = Answer<"getMe">;
export type Role = NonNullable<Me["person"]>["role"];

export function useMe() {
  return useRead("getMe", {}, { staleTime: Number.POSITIVE_INFINITY });
}

/** Given to all pages by the frame around them. A row of a list that asked the cache instead would cost twice as much. */
export const SignedInAs = createContext<Me | undefined>(undefined);

/** Why the person may not do what needs this scope; undefined where they may, and where it needs none. */
export function useMayNot(scope: Scope | undefined): string | undefined {
  const data = useContext(SignedInAs);
  if (!data || scope === undefined || allows(data.scopes, scope)) return undefined;
  return `Your role${data.person ? ` (${data.person.role})` : ""} does not include ${scope}.`;
}

/** A sign-in by link proves who somebody is; for this long it stands in for the password. */
const LINK_COUNTS_MS = 10 * 60_000;

/** Whether a change of email or password takes the password that holds until now. */
export function needsPassword({ person, session }: Me, now: number): boolean {
  if (!person?.passwordSet) return false;
  return session?.signedInBy !== "link" || now - Date.parse(session.createdAt) >= LINK_COUNTS_MS;
}
