/** A terminal in a program that runs. Its heavy part is loaded when the first one is opened. */
import { lazy, Suspense } from "react";
import { Skeleton } from "./layout.tsx";
import type { TerminalProps } from "./terminal-link.ts";

const Screen = lazy(() => import("./terminal-screen.tsx"));

export function Terminal(props: TerminalProps) {
  return (
    <Suspense fallback={<Skeleton lines={8} />}>
      <Screen {...props} />
    </Suspense>
  );
}
