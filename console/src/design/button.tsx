/** Buttons, and links that look like them. A button that may not be pressed says why on hover. */
import { Link, type LinkProps } from "@tanstack/react-router";
import { type ButtonHTMLAttributes, cloneElement, type PointerEvent, type ReactElement, type ReactNode } from "react";
import css from "./button.module.css";

type Kind = "primary" | "plain" | "quiet" | "danger";

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "disabled"> {
  kind?: Kind;
  size?: "small" | "normal";
  icon?: ReactNode;
  /** Why it cannot be pressed now. It stays focusable, so that everyone can find out. */
  refused?: string | false | undefined;
  isBusy?: boolean;
}

const classOf = (kind: Kind, size: "small" | "normal") =>
  `${css.button} ${css[kind]} ${size === "small" ? css.small : ""}`;

export function Button({
  kind = "plain",
  size = "normal",
  icon,
  refused,
  isBusy,
  onClick,
  children,
  ...rest
}: ButtonProps) {
  const isOff = Boolean(refused) || isBusy;
  const button = (
    <button
      type="button"
      {...rest}
      className={`${classOf(kind, size)} ${rest.className ?? ""}`}
      aria-disabled={isOff || undefined}
      aria-busy={isBusy || undefined}
      onClick={isOff ? (event) => event.preventDefault() : onClick}
    >
      {icon}
      {children}
    </button>
  );
  return refused ? <Hint text={refused}>{button}</Hint> : button;
}

/** A button with an icon alone. Its label is read aloud and shown on hover; `isLight` leaves that to the browser, for long lists. */
export function IconButton({ label, isLight, ...rest }: ButtonProps & { label: string; isLight?: boolean }) {
  if (isLight) {
    const name = ({ currentTarget }: PointerEvent<HTMLElement>) => {
      currentTarget.title = label;
    };
    return <Button kind="quiet" {...rest} aria-label={label} onPointerEnter={name} className={css.icon!} />;
  }
  return (
    <Hint text={rest.refused || label}>
      <Button kind="quiet" {...rest} aria-label={label} className={css.icon!} />
    </Hint>
  );
}

export function ButtonLink({
  kind = "plain",
  size = "normal",
  icon,
  children,
  ...to
}: LinkProps & { kind?: Kind; size?: "small" | "normal"; icon?: ReactNode; children: ReactNode }) {
  return (
    <Link {...to} className={classOf(kind, size)}>
      {icon}
      {children}
    </Link>
  );
}

/** A sentence beside what the pointer or the focus is on: see hints.ts. */
export const Hint = ({ text, children }: { text: string; children: ReactElement }) =>
  cloneElement(children as ReactElement<{ "data-hint"?: string }>, { "data-hint": text });
