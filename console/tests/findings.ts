/** An automated check of accessibility: what it finds that keeps people out. */
import AxeBuilder from "@axe-core/playwright";
import type { Page } from "playwright-core";

const GRAVE = ["serious", "critical"];

/** One line for each grave finding of the page, in both themes. */
export async function findings(page: Page): Promise<string[]> {
  await page.emulateMedia({ colorScheme: "light" });
  const light = await graveOf(page, new AxeBuilder({ page }));
  await page.emulateMedia({ colorScheme: "dark" });
  // Only colours differ between the themes.
  const dark = await graveOf(page, new AxeBuilder({ page }).withRules(["color-contrast"]));
  await page.emulateMedia({ colorScheme: "light" });
  return [...light, ...dark.map((finding) => `${finding} (dark)`)];
}

async function graveOf(page: Page, axe: AxeBuilder): Promise<string[]> {
  const { violations } = await axe.setLegacyMode().analyze();
  return violations
    .filter(({ impact }) => GRAVE.includes(impact ?? ""))
    .flatMap(({ id, nodes }) =>
      nodes.map(
        ({ html, any }) => `${new URL(page.url()).pathname}: ${id}: ${html.slice(0, 160)} ${any[0]?.message ?? ""}`,
      ),
    );
}
