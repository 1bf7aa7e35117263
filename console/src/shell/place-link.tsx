/** A link to a page whose address has no parts to fill in. */
import { useRouter } from "@tanstack/react-router";
import type { MouseEvent, ReactNode } from "react";

interface PlaceLinkProps {
  to: string;
  /** Whether the page that is shown is this one, or below it. */
  isHere?: boolean;
  className: string | undefined;
  children: ReactNode;
}

/** A link of the router's own works out its address and state by itself. Twenty of them take as long as the rest of the navigation. */
export function PlaceLink({ to, isHere, className, children }: PlaceLinkProps) {
  const router = useRouter();
  const preload = () => void router.preloadRoute({ to: to as "/" }).catch(() => undefined);
  const go = (event: MouseEvent) => {
    // The browser opens the page in another tab or window.
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    void router.navigate({ to: to as "/" });
  };
  return (
    <a
      href={to}
      className={className}
      data-active={isHere || undefined}
      aria-current={isHere ? "page" : undefined}
      onClick={go}
      onMouseEnter={preload}
      onFocus={preload}
      onTouchStart={preload}
    >
      {children}
    </a>
  );
}

/** Whether an address is the page of a place, or one below it. */
export const isAt = (pathname: string, path: string): boolean =>
  pathname === path || (path !== "/" && pathname.startsWith(`${path}/`));
