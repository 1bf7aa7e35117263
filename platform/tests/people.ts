/** People for tests: signed in by a link, by a password or by an invitation. */
import type { Role } from "../src/resources/people/model.ts";
import { TestBrowser } from "./browser.ts";
import type { World } from "./world.ts";

export const PASSWORD = "correct horse battery";

export const linkOf = async ({ services, owner }: Pick<World, "services" | "owner">, account = owner.account) =>
  (await services.signInLinks.create(await services.people.ownerOf(account))).token;

/** The owner of the first account, by a link. */
export async function signedInOwner(world: World): Promise<TestBrowser> {
  const browser = new TestBrowser(world.url);
  await browser.call("POST", "/v2/account/sign-in/link", { body: { token: await linkOf(world) } });
  return browser;
}

/** What stands behind the sign of a link. */
export const tokenIn = (url: string) => new URL(url).hash.slice(1);

/** Somebody new, whom the caller invites. */
export async function invited(
  world: World,
  { role = "viewer", email = `${role}@example.com`, by }: { role?: Role; email?: string; by?: TestBrowser } = {},
): Promise<TestBrowser> {
  const asked = { body: { role } };
  const { json } = await (by
    ? by.call("POST", "/v2/account/invitations", asked)
    : world.call("POST", "/v2/account/invitations", asked));
  const browser = new TestBrowser(world.url);
  await browser.call("POST", "/v2/account/sign-in/invitation", {
    body: { token: tokenIn(json.url), email, password: PASSWORD },
  });
  return browser;
}
