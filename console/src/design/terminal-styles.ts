/** Lets xterm.js style itself under a security policy that forbids style elements. */

/** A style element of xterm.js becomes a sheet that the document adopts, which the policy allows. */
function adoptedStyle(): HTMLElement {
  const sheet = new CSSStyleSheet();
  const stand = document.createElement("span");
  stand.hidden = true;
  Object.defineProperty(stand, "textContent", { set: (text: string) => sheet.replaceSync(text) });
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  stand.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    Element.prototype.remove.call(stand);
  };
  return stand;
}

const make = (name: string): HTMLElement =>
  name === "style" ? adoptedStyle() : Document.prototype.createElement.call(document, name);

/** The document as xterm.js sees it. */
export const documentForTerminals: Document = new Proxy(document, {
  get: (target, key) => {
    if (key === "createElement") return make;
    const value: unknown = Reflect.get(target, key);
    return typeof value === "function" ? value.bind(target) : value;
  },
});

/**
 * The scroll bar of xterm.js makes its style element with the window's document, whichever it was given: while `task`
 * opens a terminal, and no longer, that document makes elements in the same way.
 */
export function withAdoptedStyles(task: () => void): void {
  document.createElement = make as typeof document.createElement;
  try {
    task();
  } finally {
    delete (document as Partial<Document>).createElement;
  }
}
