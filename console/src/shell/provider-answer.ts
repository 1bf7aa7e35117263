/** A sign-in at the identity provider: what this tab asked for, and the answer with which the browser comes back. */
const KEPT_AS = "millrace.sign-in";
const PLACE = "/sign-in/provider";

interface Begun {
  state: string;
  next: string | null;
  account: string | null;
}

let answer: string | undefined;

/** Runs before the router, so that neither the router nor the history of the browser keeps the code. */
export function takeProviderAnswer(): void {
  if (location.pathname !== PLACE) return;
  if (location.search.length > 1) answer = location.search.slice(1);
  history.replaceState(history.state, "", PLACE);
}

/** The storage of a tab belongs to this origin alone. A program on another port of the host sees its cookies, but never this. */
export function keepBegun(begun: Begun): void {
  sessionStorage.setItem(KEPT_AS, JSON.stringify(begun));
}

/** Returns the answer if this tab asked for it. An answer to somebody else's question would sign in as somebody else. */
export function ownAnswer(): { answer: string; begun: Begun } | undefined {
  const begun = begunIn(sessionStorage.getItem(KEPT_AS));
  if (answer === undefined || !begun || new URLSearchParams(answer).get("state") !== begun.state) return undefined;
  return { answer, begun };
}

function begunIn(text: string | null): Begun | undefined {
  try {
    return text === null ? undefined : (JSON.parse(text) as Begun);
  } catch {
    return undefined;
  }
}
