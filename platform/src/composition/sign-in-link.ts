/** One-time links to the console: the first start prints one, and a command makes others. */
import type { Actor } from "../resources/audit/model.ts";
import { signInUrl } from "../resources/people/links.ts";
import type { AccountServices } from "./account-services.ts";

export interface SignInLink {
  url: string;
  expiresAt: number;
}

/** Whoever can open the data folder may sign in as the owner of any account. The audit log says that a link was made. */
export async function makeSignInLink(
  { people, signInLinks, audit }: Pick<AccountServices, "people" | "signInLinks" | "audit">,
  { account, base, actor }: { account: string; base: string; actor: Actor },
): Promise<SignInLink> {
  const owner = await people.ownerOf(account);
  const deed = { account, actor, operation: "createSignInLink", resource: { type: "people", id: owner.id } };
  const { token, expiresAt } = await audit.record(deed, () => signInLinks.create(owner));
  return { url: signInUrl(base, token), expiresAt };
}
