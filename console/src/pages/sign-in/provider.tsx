/** Signing in by the identity provider: the button that leads there, and the page to which it leads back. */
import { useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { useWrite } from "../../api/queries.ts";
import { Button, ButtonLink } from "../../design/button.tsx";
import { Refused } from "../../design/layout.tsx";
import { keepBegun, ownAnswer } from "../../shell/provider-answer.ts";
import { Frame, useEnter } from "./frame.tsx";
import css from "./sign-in.module.css";

export function ProviderButton({ label }: { label: string }) {
  const begin = useWrite("beginSignInByProvider", {
    onSuccess: ({ url, state }) => {
      const search = new URLSearchParams(location.search);
      keepBegun({ state, next: search.get("next"), account: search.get("account") });
      location.assign(url);
    },
  });
  return (
    <div className={css.form}>
      <Button kind="primary" isBusy={begin.isPending || begin.isSuccess} onClick={() => begin.mutate({})}>
        Sign in with {label}
      </Button>
      {begin.error && <Refused refusal={begin.error} />}
    </div>
  );
}

/** An answer is good once, so it is sent once, however often the page is drawn. */
let isSent = false;

export function ProviderReturn() {
  const own = ownAnswer();
  const router = useRouter();
  const enter = useEnter(own?.begun.next);
  const finish = useWrite("signInByProvider", { onSuccess: enter });
  const { mutate } = finish;
  useEffect(() => {
    if (!own || isSent) return;
    isSent = true;
    const { answer, begun } = own;
    mutate({ body: { answer, ...(begun.account !== null && { account: begun.account }) } });
  }, [own, mutate]);
  if (!own) {
    return (
      <Frame title="This tab did not ask for that">
        <p>An answer of the identity provider is good only in the tab that asked for it. Sign in here:</p>
        <ButtonLink to="/sign-in" kind="primary">
          Sign in
        </ButtonLink>
      </Frame>
    );
  }
  if (finish.error) {
    return (
      <Frame title="You are not signed in">
        <Refused refusal={finish.error} />
        <Button kind="primary" onClick={() => router.history.replace("/sign-in")}>
          Try again
        </Button>
      </Frame>
    );
  }
  return (
    <Frame title="Signing you in">
      <p role="status">One moment.</p>
    </Frame>
  );
}
