/** A page shows nothing of somebody who has signed out since. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { beginSession, followOtherTabs } from "./session.ts";

type Listener = (event: { persisted: boolean }) => void;

let token: string | null = "hers";
let reloads = 0;
let listeners: [string, Listener][] = [];
const tell = (kind: string, event = { persisted: true }) => {
  for (const [of, listener] of listeners) if (of === kind) listener(event);
};

beforeEach(() => {
  token = "hers";
  reloads = 0;
  listeners = [];
  vi.stubGlobal("localStorage", {
    getItem: () => token,
    setItem: (_: string, value: string) => {
      token = value;
    },
  });
  vi.stubGlobal("location", { pathname: "/pods", reload: () => reloads++ });
  vi.stubGlobal("addEventListener", (kind: string, listener: Listener) => listeners.push([kind, listener]));
  followOtherTabs();
});
afterEach(() => vi.unstubAllGlobals());

test.each([
  ["nobody is signed in any more", null],
  ["somebody else is signed in", "his"],
])("a page that the browser kept is loaded anew if %s when it is shown again", (_, now) => {
  tell("pagehide");
  token = now;
  tell("pageshow");
  expect(reloads).toBe(1);
});

test("a page is kept while the same person is signed in, also if they signed in on it", () => {
  tell("pageshow", { persisted: false });
  token = "hers, anew";
  tell("pagehide");
  tell("pageshow");
  expect(reloads).toBe(0);
});

test("a page on which somebody was signed in is loaded anew for the next person", () => {
  expect([beginSession("his"), token]).toEqual([true, "his"]);
  token = null;
  expect([beginSession("his"), token]).toEqual([false, "his"]);
});
