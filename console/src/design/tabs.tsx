/** Tabs of a page: each is an address of its own. */
import { Link, type LinkProps } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useView } from "../shell/view.ts";
import css from "./tabs.module.css";

interface TabLink extends LinkProps {
  label: string;
  count?: ReactNode;
}

export function TabLinks({ label, tabs }: { label: string; tabs: readonly TabLink[] }) {
  return (
    <nav className={css.tabs} aria-label={label}>
      {tabs.map(({ label: text, count, ...to }) => (
        <Link
          key={text}
          {...to}
          className={css.tab}
          activeOptions={{ exact: true, includeSearch: false }}
          activeProps={{ "data-active": true, "aria-current": "page" }}
        >
          {text}
          {count !== undefined && <span className={css.count}>{count}</span>}
        </Link>
      ))}
    </nav>
  );
}

/** Tabs that are a parameter of the address, where each is the same page with other rows. */
export function ViewTabs<V extends string>({
  label,
  name,
  fallback,
  tabs,
}: {
  label: string;
  name: string;
  /** The tab of an address without the parameter. */
  fallback: V;
  tabs: readonly { value: V; label: string; count?: ReactNode }[];
}) {
  const [shown] = useView<V>(name, fallback);
  return (
    <nav className={css.tabs} aria-label={label}>
      {tabs.map(({ value, label: text, count }) => (
        <Link
          key={value}
          to="."
          search={{ [name]: value === fallback ? undefined : value }}
          className={css.tab}
          data-active={value === shown || undefined}
          aria-current={value === shown ? "page" : undefined}
          // The router marks the path as active, which all of these share.
          activeProps={{
            "data-active": value === shown || undefined,
            "aria-current": value === shown ? "page" : undefined,
          }}
        >
          {text}
          {count !== undefined && <span className={css.count}>{count}</span>}
        </Link>
      ))}
    </nav>
  );
}
