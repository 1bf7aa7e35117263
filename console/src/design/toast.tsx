/** Short news at the corner: what was done, or why it was refused. What shows it is loaded with the first of them. */
import { lazy, Suspense, useSyncExternalStore } from "react";
import { Refusal } from "../api/refusal.ts";

const load = () => import("./toast-list.tsx");
const ToastList = lazy(load);
let isNeeded = false;
const listeners = new Set<() => void>();

type News = Parameters<Awaited<ReturnType<typeof load>>["show"]>[0];

async function add(news: News): Promise<void> {
  isNeeded = true;
  for (const tell of listeners) tell();
  (await load()).show(news);
}

export function say(title: string, description?: string): void {
  void add({ title, description });
}

/** For failed writes that no form shows. */
export function sayRefused(error: unknown): void {
  const { message, remedy } = error instanceof Refusal ? error : { message: String(error), remedy: undefined };
  void add({ title: message, description: remedy, type: "bad", timeout: 12_000, priority: "high" });
}

const subscribe = (tell: () => void) => {
  listeners.add(tell);
  return () => listeners.delete(tell);
};

export function Toasts() {
  const isShown = useSyncExternalStore(subscribe, () => isNeeded);
  return isShown ? (
    <Suspense>
      <ToastList />
    </Suspense>
  ) : null;
}
