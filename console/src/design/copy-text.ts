/** Puts text into the clipboard, also from a page that the browser gives none. */
import { Refusal } from "../api/refusal.ts";

/** Browsers give pages `navigator.clipboard` over https and from their own machine, and a server in the same network often has neither. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard as Clipboard | undefined) return navigator.clipboard.writeText(text);
  const before = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.style.position = "fixed";
  area.style.opacity = "0";
  // What is outside an open dialog cannot have the focus.
  (before?.closest("[role=dialog], [role=alertdialog]") ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  if (!isCopied) {
    throw new Refusal(0, "Not copied", "The browser does not let this page copy. Select the text, and press Ctrl C.");
  }
}
