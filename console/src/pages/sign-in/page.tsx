/** Signing in: by a one-time link, or by email and password. */
import { useEffect, useState } from "react";
import type { Answer } from "../../api/client.ts";
import { useRead, useWrite } from "../../api/queries.ts";
import type { Refusal } from "../../api/refusal.ts";
import { pageToken, type WhyHere } from "../../api/session.ts";
import { Button } from "../../design/button.tsx";
import { Refused } from "../../design/layout.tsx";
import { linkToken } from "../../shell/link-token.ts";
import { nextOf } from "../../shell/next.ts";
import { Credentials, Frame, LinkCommand, Looked, useEnter } from "./frame.tsx";
import { ProviderButton } from "./provider.tsx";
import css from "./sign-in.module.css";

const WORDS: Record<WhyHere, string> = {
  "signed-out": "You are signed out.",
  ended: "Your session has ended. Sign in to go on where you were.",
  "other-tab": "You signed out in another tab.",
  everywhere: "You are signed out everywhere.",
};

/** A link works once, so it is sent once, however often the page is drawn. */
let isLinkSent = false;

export function SignIn() {
  const token = linkToken();
  const enter = useEnter();
  const byLink = useWrite("signInByLink", { onSuccess: enter });
  const { mutate } = byLink;
  const isSignedIn = useIsSignedIn(token === undefined);
  useEffect(() => {
    if (token === undefined || isLinkSent) return;
    isLinkSent = true;
    mutate({ body: { token } });
  }, [token, mutate]);
  if (byLink.error) return <LinkRefused refusal={byLink.error} />;
  if (token !== undefined || isSignedIn) {
    return (
      <Frame title="Signing you in">
        <p role="status">One moment.</p>
      </Frame>
    );
  }
  return <ByHand />;
}

/** Somebody who came here signed in has no business here, and goes on. Whoever signs in here goes on without loading the page anew. */
function useIsSignedIn(isWanted: boolean): boolean {
  const [hadToken] = useState(() => pageToken() !== null);
  const me = useRead("getMe", {}, { enabled: isWanted && hadToken });
  const isSignedIn = hadToken && me.data !== undefined && pageToken() !== null;
  useEffect(() => {
    if (isWanted && isSignedIn)
      location.replace(nextOf(new URLSearchParams(location.search).get("next"), location.origin));
  }, [isWanted, isSignedIn]);
  return isSignedIn;
}

function LinkRefused({ refusal }: { refusal: Refusal }) {
  const state = useRead("getSignIn", {});
  if (refusal.code !== "link-used") {
    return (
      <Frame title="This link did not work">
        <Refused refusal={refusal} />
        <p>The link is still good. Reload the page it came from, or make another:</p>
        <LinkCommand />
      </Frame>
    );
  }
  return (
    <Frame title="This link is no longer good">
      <p>A sign-in link works once, and for 10 minutes. This one was used before, or it is too old.</p>
      <p>
        <strong>Make another</strong> on the machine where Millrace runs:
      </p>
      <LinkCommand />
      {state.data?.passwordSet && state.data.passwords && (
        <>
          <div className={css.or}>or</div>
          <PasswordForm />
        </>
      )}
    </Frame>
  );
}

function ByHand() {
  const state = useRead("getSignIn", {});
  const why = new URLSearchParams(location.search).get("why") as WhyHere | null;
  const word = why !== null && Object.hasOwn(WORDS, why) ? WORDS[why] : undefined;
  return (
    <Looked title="Sign in" look={state}>
      {(ways) => <Ways ways={ways} word={word} />}
    </Looked>
  );
}

function Ways({ ways, word }: { ways: Answer<"getSignIn">; word: string | undefined }) {
  const { possible, reason, provider, passwords } = ways;
  const passwordSet = ways.passwordSet && passwords;
  if (!possible) {
    return (
      <Frame title="A browser cannot sign in here yet">
        <p>{reason}</p>
      </Frame>
    );
  }
  if (provider) {
    return (
      <Frame title="Sign in" below={<OtherWays />}>
        {word && <p className={css.word}>{word}</p>}
        <ProviderButton label={provider.label} />
        {passwordSet && (
          <>
            <div className={css.or}>or</div>
            <PasswordForm />
          </>
        )}
      </Frame>
    );
  }
  if (!passwordSet) {
    return (
      <Frame title="Sign in by link">
        {word && <p className={css.word}>{word}</p>}
        <p>
          Nobody has set a password yet, so a link is the way in. The server printed one when it first started. This
          command makes another:
        </p>
        <LinkCommand />
        <p>Run it on the machine where Millrace runs. The link works once, for 10 minutes.</p>
      </Frame>
    );
  }
  return (
    <Frame
      title="Sign in"
      below={
        <details className={css.help}>
          <summary>Forgot the password, or have none?</summary>
          <div>
            <p>An owner signs in by link. Run this on the machine where Millrace runs, then set a new password:</p>
            <LinkCommand />
            <p>Everybody else asks an owner for a new invitation.</p>
          </div>
        </details>
      }
    >
      {word && <p className={css.word}>{word}</p>}
      <PasswordForm />
    </Frame>
  );
}

function OtherWays() {
  return (
    <details className={css.help}>
      <summary>Cannot sign in this way?</summary>
      <div>
        <p>An owner signs in by link. Run this on the machine where Millrace runs:</p>
        <LinkCommand />
      </div>
    </details>
  );
}

function PasswordForm() {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const signIn = useWrite("signIn", { onSuccess: useEnter() });
  return (
    <form
      className={css.form}
      onSubmit={(event) => {
        event.preventDefault();
        signIn.mutate({ body: { email, password } });
      }}
    >
      <Credentials email={email} onEmail={setEmail} password={password} onPassword={setPassword} />
      {signIn.error && <Refused refusal={signIn.error} />}
      <Button type="submit" kind="primary" isBusy={signIn.isPending}>
        Sign in
      </Button>
    </form>
  );
}
