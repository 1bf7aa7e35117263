/** The secret of a sign-in link or an invitation stands behind the `#`. It leaves the address before anything else happens. */
const PLACES = ["/sign-in", "/invitation"];
let token: string | undefined;

/** Runs before the router, so that neither the router nor the history of the browser ever keeps the secret. */
export function takeLinkToken(): void {
  // A link pasted into a tab that shows one of these pages changes the hash alone, which loads nothing. Most came here from another page.
  addEventListener("hashchange", () => {
    if (PLACES.includes(location.pathname) && location.hash.length > 1) location.reload();
  });
  if (!PLACES.includes(location.pathname)) return;
  if (location.hash.length > 1) token = location.hash.slice(1);
  history.replaceState(history.state, "", location.pathname + location.search);
}

/** Puts the secret back into the address, so that it is there after a reload. */
export function returnLinkToken(): void {
  if (token !== undefined) history.replaceState(history.state, "", `${location.pathname}${location.search}#${token}`);
}

export const linkToken = (): string | undefined => token;
