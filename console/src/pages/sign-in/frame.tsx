/** The frame of the pages for people who are not signed in, and what follows a sign-in. */
import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import type { Answer } from "../../api/client.ts";
import { keyOf } from "../../api/queries.ts";
import { keepPageToken } from "../../api/session.ts";
import { Code } from "../../design/code.tsx";
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

const OPEN_COMMAND = "./millrace open";

/** How to get a link: the way in that needs no password. */
export function LinkCommand() {
  return <Code text={OPEN_COMMAND} label="Copy the command" />;
}

/** Keeps the session and goes to where the person wanted to be. */
export function useEnter(): (signedIn: Answer<"signIn">) => void {
  const cache = useQueryClient();
  const router = useRouter();
  return ({ pageToken, me }) => {
    keepPageToken(pageToken);
    cache.clear();
    cache.setQueryData(keyOf("getMe", {}), me);
    const wanted = new URLSearchParams(location.search).get("next");
    router.history.replace(nextOf(wanted, location.origin));
  };
}
