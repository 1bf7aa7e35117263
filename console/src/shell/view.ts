/** State of the view that lives in the address: filters, tabs, ranges, open drawers. Back works, and a link shows the same. */
import { type AnyRouter, useNavigate, useRouter, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";

type Search = Record<string, string | undefined>;

/** One parameter of the address. The fallback is not written into it. */
export function useView<V extends string>(name: string, fallback: V): [V, (value: V | undefined) => void];
export function useView(name: string): [string | undefined, (value: string | undefined) => void];
export function useView(name: string, fallback?: string): [string | undefined, (value: string | undefined) => void] {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const router = useRouter();
  const change = useCallback(
    (value: string | undefined) => {
      if (isLeaving(router)) return;
      void navigate({
        to: ".",
        replace: true,
        search: (before: Search) => ({
          ...before,
          [name]: value === fallback || value === "" ? undefined : value,
        }),
      });
    },
    [router, navigate, name, fallback],
  );
  return [search[name] ?? fallback, change];
}

/** A page whose successor still loads must not change the address, since that would cancel the way there. */
function isLeaving({ state: { location, resolvedLocation } }: AnyRouter): boolean {
  return resolvedLocation !== undefined && resolvedLocation.pathname !== location.pathname;
}

/** Several values of one parameter, such as statuses. */
export function useViewList(name: string): [string[], (values: string[]) => void] {
  const [text, setText] = useView(name);
  return [text ? text.split(",") : [], (values) => setText(values.length === 0 ? undefined : values.join(","))];
}

export const parseSearch = (text: string): Search => Object.fromEntries(new URLSearchParams(text));

export function stringifySearch(search: Record<string, unknown>): string {
  const entries = Object.entries(search).filter(([, value]) => value !== undefined && value !== "");
  return entries.length === 0 ? "" : `?${new URLSearchParams(entries.map(([name, value]) => [name, String(value)]))}`;
}
