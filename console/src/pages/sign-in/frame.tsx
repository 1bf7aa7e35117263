/** The frame of the pages for people who are not signed in, and what follows a sign-in. */
import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import type { Answer } from "../../api/client.ts";
import { keyOf } from "../../api/queries.ts";
import type { Refusal } from "../../api/refusal.ts";
import { beginSession } from "../../api/session.ts";
import { Code } from "../../design/code.tsx";
import { TextField } from "../../design/field.tsx";
import { Refused, Skeleton } from "../../design/layout.tsx";
import { nextOf } from "../../shell/next.ts";
import css from "./sign-in.module.css";

export function Frame({ title, children, below }: { title: string; children: ReactNode; below?: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Millrace`;
  }, [title]);
  return (
    <main className={css.whole}>
      <div className={css.brand}>
        <img src="/favicon.svg" alt="" width="24" height="24" /> Millrace
      </div>
      <section className={css.card}>
        <h1>{title}</h1>
        {children}
      </section>
      {below}
    </main>
  );
}

interface Looking<T> {
  data: T | undefined;
  error: Refusal | null;
  refetch: () => unknown;
}

/** The frame while something is looked up, and where that failed. */
export function Looked<T>({
  title,
  look,
  children,
}: {
  title: string;
  look: Looking<T>;
  children: (data: T) => ReactNode;
}) {
  if (look.data !== undefined) return children(look.data);
  return (
    <Frame title={title}>
      {look.error ? <Refused refusal={look.error} retry={() => void look.refetch()} /> : <Skeleton lines={3} />}
    </Frame>
  );
}

interface CredentialsProps {
  email: string;
  onEmail: (email: string) => void;
  password: string;
  onPassword: (password: string) => void;
  /** Whether the password is chosen here. */
  isNew?: boolean;
  faults?: ReadonlyMap<string, string>;
  emailHelp?: string | undefined;
}

/** The fields by which a password manager knows a sign-in. */
export function Credentials({ email, onEmail, password, onPassword, isNew, faults, emailHelp }: CredentialsProps) {
  return (
    <>
      <TextField
        label="Email"
        type="email"
        value={email}
        onChange={onEmail}
        autoComplete="username"
        isRequired
        autoFocus={!isNew}
        fault={faults?.get("email")}
        help={emailHelp}
      />
      <TextField
        label="Password"
        type="password"
        value={password}
        onChange={onPassword}
        autoComplete={isNew ? "new-password" : "current-password"}
        isRequired
        fault={faults?.get("password")}
        help={isNew ? "At least 10 characters." : undefined}
      />
    </>
  );
}

const OPEN_COMMAND = "./millrace open";

/** How to get a link: the way in that needs no password. */
export function LinkCommand() {
  return <Code text={OPEN_COMMAND} label="Copy the command" />;
}

/** Keeps the session and goes to where the person wanted to be. */
export function useEnter(next?: string | null): (signedIn: Answer<"signIn">) => void {
  const cache = useQueryClient();
  const router = useRouter();
  return ({ pageToken, me }) => {
    const wanted = nextOf(next ?? new URLSearchParams(location.search).get("next"), location.origin);
    if (beginSession(pageToken)) {
      location.replace(wanted);
      return;
    }
    cache.clear();
    cache.setQueryData(keyOf("getMe", {}), me);
    router.history.replace(wanted);
  };
}
