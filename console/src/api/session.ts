/** The page's half of a browser session: a token that every request carries beside the cookie (docs/people.md). */
const KEPT_AS = "millrace.page";

/** Why somebody is at the sign-in page, as its address says it. */
export type WhyHere = "signed-out" | "ended" | "other-tab" | "everywhere";

/** What the server says to a page whose session it does not take any more. */
const LOST_CODES = ["session-ended", "page-token-missing", "key-missing"];

export function pageToken(): string | null {
  return localStorage.getItem(KEPT_AS);
}

function keepPageToken(token: string | null): void {
  if (token === null) localStorage.removeItem(KEPT_AS);
  else localStorage.setItem(KEPT_AS, token);
}

/** Keeps the session of somebody who signs in. Returns whether the page must be loaded anew, as it may have answers for somebody else. */
export function beginSession(token: string): boolean {
  const hadSession = pageToken() !== null;
  keepPageToken(token);
  return hadSession;
}

/** What a request of this page carries. The cookie goes along by itself. */
export function sessionHeaders(): Record<string, string> {
  const token = pageToken();
  return token === null ? {} : { "X-Millrace-Page": token };
}

let isOver = false;

/** Whether the page is on its way out because its session is over. Nothing may hold it up then, also not what was typed and not saved. */
export const isSessionOver = (): boolean => isOver;

function go(url: string): void {
  isOver = true;
  location.replace(url);
}

function loadAnew(): void {
  isOver = true;
  location.reload();
}

/** Sends the person to the sign-in page if the answer means that their session is over. */
export function noticeLostSession(answer: Response): void {
  if (answer.status !== 401 || pageToken() === null) return;
  if (LOST_CODES.includes(answer.headers.get("X-Reason-Code") ?? "")) leave("ended");
}

/** Loads the sign-in page anew, so that nothing of the person stays in memory. Other tabs follow, since the token is gone. */
export function leave(why: WhyHere): void {
  keepPageToken(null);
  if (location.pathname === "/sign-in") return;
  const search = new URLSearchParams({ why });
  const here = location.pathname + location.search + location.hash;
  if (why !== "signed-out" && here !== "/") search.set("next", here);
  go(`/sign-in?${search}`);
}

/** After a sign-out. Somebody whom the identity provider signed in is signed out there too. */
export function leaveAfter(signedOut: { url: string } | undefined): void {
  if (signedOut === undefined) {
    leave("signed-out");
    return;
  }
  keepPageToken(null);
  go(signedOut.url);
}

/** A sign-out in another tab counts here too, and so does another person who signed in there. */
export function followOtherTabs(): void {
  addEventListener("storage", ({ key, newValue, oldValue }) => {
    if (key !== KEPT_AS || location.pathname === "/sign-in") return;
    if (newValue === null) leave("other-tab");
    else if (oldValue !== null) loadAnew();
  });
  // A page that the browser kept and shows again was told of nothing meanwhile, and still has the answers of whoever was signed in then.
  let signedIn = pageToken();
  addEventListener("pagehide", () => {
    signedIn = pageToken();
  });
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted && pageToken() !== signedIn) loadAnew();
  });
}
