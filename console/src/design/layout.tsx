/** The frame of every page: its head, panels, and what is shown when there is nothing, not yet, or an error. */
import { Terminal } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import type { Refusal } from "../api/refusal.ts";
import { Button, ButtonLink } from "./button.tsx";
import { copyText } from "./copy-text.ts";
import { Described } from "./described.tsx";
import { CopyButton } from "./facts.tsx";
import css from "./layout.module.css";

interface PageProps {
  title: ReactNode;
  /** For the tab of the browser, where `title` is more than text. */
  name?: string;
  /** A line below the title: what it is, its state. */
  about?: ReactNode;
  actions?: ReactNode;
  /** The API call that made the page, as curl. */
  curl?: string;
  tabs?: ReactNode;
  children: ReactNode;
}

export function Page({ title, name, about, actions, curl, tabs, children }: PageProps) {
  const text = name ?? (typeof title === "string" ? title : "Millrace");
  useEffect(() => {
    document.title = `${text} · Millrace`;
  }, [text]);
  return (
    <div className={css.page}>
      <header className={css.head}>
        <h1 title={typeof title === "string" ? title : name}>{title}</h1>
        {about && <div className={css.about}>{about}</div>}
        <div className={css.actions}>
          {curl && <CurlButton curl={curl} />}
          {actions}
        </div>
      </header>
      {tabs}
      <div className={css.content}>{children}</div>
    </div>
  );
}

/** The console teaches the API: every page gives away the call that made it. */
export function CurlButton({ curl }: { curl: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(curl);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <Button kind="quiet" icon={<Terminal />} className={css.curl!} title={curl} onClick={() => void copy()}>
      <span className={css.label}>{isCopied ? "Copied" : "Copy as curl"}</span>
    </Button>
  );
}

interface PanelProps {
  title?: ReactNode;
  about?: ReactNode;
  actions?: ReactNode;
  /** Without space around its content, for tables and logs. */
  isFlush?: boolean;
  children: ReactNode;
}

export function Panel({ title, about, actions, isFlush, children }: PanelProps) {
  return (
    <section className={css.panel}>
      {(title || actions) && (
        <header className={css.panelHead}>
          <div>
            {title && <h2>{title}</h2>}
            {about && <p className={css.small}>{about}</p>}
          </div>
          <div className={css.actions}>{actions}</div>
        </header>
      )}
      <div className={isFlush ? css.flush : css.inside} data-flush={isFlush || undefined}>
        {children}
      </div>
    </section>
  );
}

/** Names and values in two columns. */
export function Facts({
  rows,
}: {
  rows: readonly (readonly [name: ReactNode, value: ReactNode] | false | undefined)[];
}) {
  return (
    <dl className={css.facts}>
      {rows
        .filter((row) => row !== false && row !== undefined)
        .map(([name, value], index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the rows of a page are always the same ones in the same order
          <div key={index} className={css.fact}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

interface EmptyProps {
  title: string;
  /** One sentence that teaches what this is for. */
  children: ReactNode;
  action?: ReactNode;
  /** One command that does the same. */
  command?: string;
}

export function Empty({ title, children, action, command }: EmptyProps) {
  return (
    <div className={css.empty}>
      <h2>{title}</h2>
      <p>{children}</p>
      {action}
      {command && (
        <div className={css.command}>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long line is scrolled by keyboard too */}
          <pre tabIndex={0}>{command}</pre>
          <CopyButton text={command} label="Copy the command" />
        </div>
      )}
    </div>
  );
}

/** Grey bars in the place of what loads, after a moment: what comes at once shows none. */
export function Skeleton({ lines = 4 }: { lines?: number }) {
  return (
    <div className={css.skeleton} role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: bars without identity
        <div key={line} className={css.bar} />
      ))}
    </div>
  );
}

/** What the server refused, in its own words, and what to do about it. */
export function Refused({ refusal, retry }: { refusal: Refusal; retry?: () => void }) {
  return (
    <div className={css.refused} role="alert">
      <div>
        <strong>{refusal.message}</strong>
        {refusal.faults.length > 0 ? (
          <ul className={css.faults}>
            {refusal.faults.map(({ path, message }) => (
              <li key={`${path} ${message}`}>
                {path !== "" && <code>{path}</code>} {message}
              </li>
            ))}
          </ul>
        ) : (
          refusal.remedy && (
            <p>
              <Described text={refusal.remedy} />
            </p>
          )
        )}
        {refusal.code && <code className={css.small}>{refusal.code}</code>}
      </div>
      {retry && (
        <Button size="small" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** `network volume not found`, where an old link leads to what is gone. */
function NotThere({ what }: { what: string }) {
  const text = what.charAt(0).toUpperCase() + what.slice(1);
  const list = `/${location.pathname.split("/")[1] ?? ""}`;
  return (
    <Empty title={text} action={<ButtonLink to={list as "/"}>See what there is</ButtonLink>}>
      It was deleted, or it belongs to another account. The audit log says who deleted what.
    </Empty>
  );
}

interface Reading<T> {
  data: T | undefined;
  error: Refusal | null;
  refetch: () => unknown;
}

/** What was read, or why it could not be, or that it is on its way. */
export function Loaded<T>({
  read,
  lines,
  children,
}: {
  read: Reading<T>;
  lines?: number;
  children: (data: T) => ReactNode;
}) {
  if (read.data !== undefined) return children(read.data);
  if (read.error?.status === 404) return <NotThere what={read.error.message} />;
  if (read.error) {
    return (
      <div className={css.alone}>
        <Refused refusal={read.error} retry={() => void read.refetch()} />
      </div>
    );
  }
  return <Skeleton lines={lines ?? 4} />;
}
