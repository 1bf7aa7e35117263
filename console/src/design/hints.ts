/** Sentences beside what the pointer or the focus is on. One listener serves every element with `data-hint`, so that a button costs nothing for it. */
import css from "./button.module.css";

const AFTER_MS = 300;
const GAP_PX = 6;
const EDGE_PX = 8;
const ID = "hint";

/** Begins to show hints. Called once, before the first page. */
export function showHints(): void {
  let shownFor: HTMLElement | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const box = document.createElement("div");
  box.className = css.hint!;
  box.id = ID;
  box.role = "tooltip";
  const hide = () => {
    clearTimeout(timer);
    shownFor?.removeAttribute("aria-describedby");
    shownFor = undefined;
    box.remove();
  };
  const show = (target: HTMLElement) => {
    if (!target.isConnected) return;
    const text = target.dataset.hint!;
    shownFor = target;
    box.textContent = text;
    document.body.append(box);
    // Where the hint is the name, a screen reader has said it already.
    if (text !== target.ariaLabel && !target.hasAttribute("aria-describedby"))
      target.setAttribute("aria-describedby", ID);
    place(box, target.getBoundingClientRect());
  };
  const isOver = (node: EventTarget | null) => node instanceof Node && (box.contains(node) || shownFor?.contains(node));
  document.addEventListener("pointerover", ({ target, pointerType }) => {
    // A finger that touches a button wants to press it.
    if (pointerType === "touch" || isOver(target)) return;
    hide();
    const hinted = hintedAt(target);
    if (hinted) timer = setTimeout(() => show(hinted), AFTER_MS);
  });
  document.addEventListener("focusin", ({ target }) => {
    const hinted = hintedAt(target);
    hide();
    if (hinted?.matches(":focus-visible")) show(hinted);
  });
  for (const end of ["focusout", "pointerdown", "keydown", "scroll"])
    document.addEventListener(end, hide, { capture: true, passive: true });
  document.documentElement.addEventListener("pointerleave", hide);
}

const hintedAt = (target: EventTarget | null) =>
  target instanceof Element ? (target.closest<HTMLElement>("[data-hint]") ?? undefined) : undefined;

/** Above the target, or below it where there is no room, and never beyond the edge of the window. */
function place(box: HTMLElement, target: DOMRect): void {
  const { width, height } = box.getBoundingClientRect();
  const middle = target.left + target.width / 2 - width / 2;
  const left = Math.max(EDGE_PX, Math.min(middle, innerWidth - width - EDGE_PX));
  const above = target.top - height - GAP_PX;
  Object.assign(box.style, { left: `${left}px`, top: `${above < EDGE_PX ? target.bottom + GAP_PX : above}px` });
}
