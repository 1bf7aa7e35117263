/** A person at the keyboard alone: moves by Tab to what a name tells, sees where the focus is, and never loses it. */
import type { Page } from "playwright-core";
import { stay } from "../../platform/src/kernel/clock.ts";

const LOOK_MS = 50;
const MOST_LOOKS = 100;
/** So many steps reach the end of any page. */
const MOST_TABS = 90;

interface Focused {
  name: string;
  tag: string;
  isLost: boolean;
  isVisible: boolean;
}

/** What has the focus, by the name that is read aloud, and whether one sees that it has it. */
const FOCUSED = `(() => {
  const element = document.activeElement;
  const style = getComputedStyle(element);
  const name = element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent ?? "";
  return {
    name: name.trim(),
    tag: element.tagName.toLowerCase(),
    isLost: element === document.body,
    isVisible: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0,
  };
})()`;

const focused = (page: Page) => page.evaluate(FOCUSED) as Promise<Focused>;

/** Goes on by Tab until the focus is on it. */
async function tabTo(page: Page, name: string | RegExp, tag?: string): Promise<void> {
  const passed: string[] = [];
  for (let tabs = 0; tabs < MOST_TABS; tabs++) {
    await page.keyboard.press("Tab");
    const now = await focused(page);
    if (now.isLost && passed.at(-1) === "(the browser)") throw new Error(`nothing has the focus: ${passed.join(", ")}`);
    // The browser's own controls come after the last of the page.
    passed.push(now.isLost ? "(the browser)" : `${now.tag} ${now.name.slice(0, 30)}`);
    const isIt = typeof name === "string" ? now.name === name : name.test(now.name);
    if (!isIt || now.isLost || (tag && now.tag !== tag)) continue;
    if (!now.isVisible) throw new Error(`one does not see that ${name} has the focus`);
    return;
  }
  throw new Error(`Tab does not lead to ${name}: ${passed.join(", ")}`);
}

export async function pressOn(page: Page, name: string | RegExp, tag?: string): Promise<void> {
  await tabTo(page, name, tag);
  await page.keyboard.press("Enter");
}

export async function typeInto(page: Page, name: string | RegExp, text: string): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.type(text);
}

/** By the search that Ctrl-K opens. */
export async function goTo(page: Page, text: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search" }).waitFor();
  await page.keyboard.type(text);
  await page.getByRole("option").first().waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("combobox", { name: "Search" }).waitFor({ state: "hidden" });
}

/** What had the focus is gone with a page or a dialog; something of the next one has it then. */
export async function untilFocused(page: Page): Promise<void> {
  for (let looks = 0; (await focused(page)).isLost; looks++) {
    if (looks === MOST_LOOKS) throw new Error("nothing has the focus");
    await stay(LOOK_MS);
  }
}
