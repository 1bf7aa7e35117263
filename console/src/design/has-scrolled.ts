/** Tells when somebody begins to scroll a list. */
import { type RefObject, useEffect, useState } from "react";

/** Whether the page around an element was scrolled, or the keyboard is used, which may scroll it at once. */
export function useHasScrolled(inside: RefObject<HTMLElement | null>): boolean {
  const [hasScrolled, setScrolled] = useState(false);
  useEffect(() => {
    const page = inside.current?.closest("main");
    if (hasScrolled || !page) return;
    const stop = new AbortController();
    const tell = () => setScrolled(true);
    for (const kind of ["scroll", "wheel", "touchstart"])
      page.addEventListener(kind, tell, { passive: true, signal: stop.signal });
    document.addEventListener("keydown", tell, { signal: stop.signal });
    return () => stop.abort();
  }, [inside, hasScrolled]);
  return hasScrolled;
}
