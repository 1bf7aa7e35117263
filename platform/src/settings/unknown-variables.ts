/** Finds variables that look like settings but are not, because a server without an intended setting is worse than none. */
import { allSettings } from "./settings.ts";

/** Variables that workers, Pods and the container image get, and those of this repository's tests and scripts. A shell may have them without a mistake. */
const OTHERS =
  /^MILLRACE_((TEST|SIMULATION|SECRET|TCP_PORT|SERVICE|PORT_\d+)_.*|SEED|URL|INSTALLED_AS|INSTANCE|(DC|ENDPOINT|POD|VOLUME|WORKER)_ID|WORKER_KEY|ENDPOINT_BASE_URL|FORWARD_AUTH|INIT_TIMEOUT|PING_INTERVAL)$/;

/** Refuses a variable that is nearly the name of a setting. Returns the others as one line, or undefined if there are none. */
export function unknownVariables(env: Record<string, string | undefined>): string | undefined {
  const known = allSettings.map(({ variable }) => variable);
  const unknown = Object.keys(env).filter(
    (name) => name.startsWith("MILLRACE_") && !known.includes(name) && !OTHERS.test(name),
  );
  for (const name of unknown) {
    const meant = nearest(name, known);
    if (meant) throw new Error(`${name} is no setting; ${meant} is: set that instead, or unset ${name}.`);
  }
  if (unknown.length === 0) return undefined;
  const names = unknown.toSorted().slice(0, MOST_NAMED);
  const more = unknown.length > names.length ? ` and ${unknown.length - names.length} more` : "";
  return `ignored, because there is no setting of this name: ${names.join(", ")}${more}. 'millrace serve --help' lists the settings.`;
}

const MOST_NAMED = 10;

/** Allows one wrong letter in a short name, and two in a longer one. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const most = name.length > "MILLRACE_".length + 5 ? 2 : 1;
  const ranked = known.map((one) => ({ one, distance: distanceOf(name, one) })).filter((it) => it.distance <= most);
  return ranked.sort((a, b) => a.distance - b.distance)[0]?.one;
}

/** How many letters must be added, removed, replaced or swapped with their neighbor. */
function distanceOf(a: string, b: string): number {
  let [before, above] = [[] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(Math.min(replaced, above[j]! + 1, row[j - 1]! + 1, isSwapped ? before[j - 2]! + 1 : replaced));
    }
    [before, above] = [above, row];
  }
  return above[b.length]!;
}
