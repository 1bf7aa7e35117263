/** A file of the console that is missing is known as such, and reloads the page once. */
import { expect, test } from "vitest";
import { isMissingFile, loading, reloadOnce, watchMissingFiles } from "./missing-file.ts";

/** As Vite does for an import that failed. */
function report(page: EventTarget, payload: Error): void {
  page.dispatchEvent(Object.assign(new Event("vite:preloadError", { cancelable: true }), { payload }));
}

test("what Vite reports is a missing file, also as the reason why a page could not be loaded; other errors are not", async () => {
  const page = new EventTarget();
  watchMissingFiles(page);
  const [failed, other] = [new Error("Failed to fetch dynamically imported module"), new Error("of another kind")];
  report(page, failed);
  expect([failed, other, "a text", undefined].map(isMissingFile)).toEqual([true, false, false, false]);
  expect(isMissingFile(await loading(() => Promise.reject(failed))().catch((error) => error))).toBe(true);
  expect(isMissingFile(await loading(() => Promise.reject(other))().catch((error) => error))).toBe(false);
});

test("a page is reloaded once, and again only when a minute has passed", () => {
  const kept = new Map<string, string>();
  const store = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  };
  let reloads = 0;
  const reload = () => void reloads++;
  expect([0, 1, 59_999, 60_000, 60_001].map((at) => [reloadOnce(store, at, reload), reloads])).toEqual([
    [true, 1],
    [false, 1],
    [false, 1],
    [true, 2],
    [false, 2],
  ]);
});
