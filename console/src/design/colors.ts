/** Colours of the tokens for what is drawn on a canvas. */

/** Every look costs a style and a layout, and every chart of a page asks for the same. */
const known = new Map<string, string>();
let knownFor: string | undefined;
const themeNow = () =>
  document.documentElement.dataset.theme ?? String(matchMedia("(prefers-color-scheme: dark)").matches);

/** A canvas knows no `light-dark()`: the browser resolves it on an element. As `#rrggbb`. */
export function resolvedColor(element: HTMLElement, value: string): string {
  if (knownFor !== themeNow()) known.clear();
  knownFor = themeNow();
  const color = known.get(value) ?? lookUp(element, value);
  known.set(value, color);
  return color;
}

function lookUp(element: HTMLElement, value: string): string {
  const probe = document.createElement("span");
  probe.style.color = value;
  element.append(probe);
  const [red = 0, green = 0, blue = 0] =
    getComputedStyle(probe)
      .color.match(/[\d.]+/g)
      ?.map(Number) ?? [];
  probe.remove();
  return `#${[red, green, blue].map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
}

/** Calls `task` when the page changes between light and dark. Returns what ends that. */
export function onTheme(task: () => void): () => void {
  const theme = matchMedia("(prefers-color-scheme: dark)");
  theme.addEventListener("change", task);
  const attribute = new MutationObserver(task);
  attribute.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    theme.removeEventListener("change", task);
    attribute.disconnect();
  };
}
