/** Files of the console that could not be loaded: most often the server got a new version while the page was open. */

const missing = new WeakSet<object>();
const RELOADED_AT = "millrace.reloaded";
/** A reload brings the new version. If a file is missing again so soon after one, another would not help. */
const SOON_MS = 60_000;

/** Vite reports every script and style sheet of a page that could not be loaded. */
export function watchMissingFiles(page: EventTarget): void {
  page.addEventListener("vite:preloadError", (event) => missing.add((event as VitePreloadErrorEvent).payload));
}

export function isMissingFile(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return missing.has(error) || isMissingFile(error.cause);
}

/** The router reloads for an import that failed, but it does not keep the secret of an invitation. It leaves other errors alone. */
export const loading =
  <Module>(load: () => Promise<Module>) =>
  () =>
    load().catch((cause: unknown) => {
      throw new Error("This page could not be loaded.", { cause });
    });

/** Whether the server gives out the console now. A reload without it would leave nothing but an error of the browser. */
export async function isServed(signal: AbortSignal): Promise<boolean> {
  const answer = await fetch("/start.js", { method: "HEAD", cache: "no-store", signal }).catch(() => undefined);
  return answer?.ok ?? false;
}

/** Returns false if the page was reloaded a moment ago, so that nobody's page reloads for ever. */
export function reloadOnce(kept: Pick<Storage, "getItem" | "setItem">, now: number, reload: () => void): boolean {
  const last = kept.getItem(RELOADED_AT);
  if (last !== null && now - Number(last) < SOON_MS) return false;
  kept.setItem(RELOADED_AT, String(now));
  reload();
  return true;
}
