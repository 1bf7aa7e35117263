/** An invitation: what it is for, and the form that makes a person of the account. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Answer, call } from "../../api/client.ts";
import { useWrite } from "../../api/queries.ts";
import type { Refusal } from "../../api/refusal.ts";
import { Button } from "../../design/button.tsx";
import { When } from "../../design/facts.tsx";
import { TextField } from "../../design/field.tsx";
import { Refused } from "../../design/layout.tsx";
import { faultsOf } from "../../forms/faults.ts";
import { roleWords } from "../../parts/roles.tsx";
import { linkToken } from "../../shell/link-token.ts";
import { Credentials, Frame, Looked, useEnter } from "./frame.tsx";
import css from "./sign-in.module.css";

type Seen = Answer<"lookAtInvitation">;

export function Invitation() {
  const token = linkToken();
  const look = useQuery<Seen, Refusal>({
    queryKey: ["lookAtInvitation"],
    queryFn: () => call("lookAtInvitation", { body: { token: token! } }),
    enabled: token !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (token === undefined) {
    return (
      <Frame title="Open the invitation again">
        <p>The secret of an invitation is kept only until the page is loaded anew. Open the link that you were sent.</p>
      </Frame>
    );
  }
  if (look.error?.code === "invitation-used") {
    return (
      <Frame title="This invitation is no longer good">
        <p>It was used before, it was withdrawn, or it is too old. Ask the person who sent it for another.</p>
      </Frame>
    );
  }
  return (
    <Looked title="Invitation" look={look}>
      {(seen) => <Accept seen={seen} token={token} />}
    </Looked>
  );
}

function Accept({ seen, token }: { seen: Seen; token: string }) {
  const [name, setName] = useState("");
  const [email, setEmail] = useState(seen.email ?? "");
  const [password, setPassword] = useState("");
  const accept = useWrite("signInByInvitation", { onSuccess: useEnter() });
  const faults = faultsOf(accept.error);
  return (
    <Frame title={`Join ${seen.account.name}`}>
      <p>
        {seen.invitedBy ? <strong>{seen.invitedBy}</strong> : "An API key of the account"} invites you as{" "}
        <strong>{seen.role}</strong>. {roleWords[seen.role]} The invitation ends <When at={seen.expiresAt} />.
      </p>
      <form
        className={css.form}
        onSubmit={(event) => {
          event.preventDefault();
          accept.mutate({ body: { token, email, password, ...(name !== "" && { name }) } });
        }}
      >
        <TextField
          label="Name"
          value={name}
          onChange={setName}
          autoComplete="name"
          isOptional
          fault={faults.get("name")}
          autoFocus
        />
        <Credentials
          isNew
          email={email}
          onEmail={setEmail}
          password={password}
          onPassword={setPassword}
          faults={faults}
          emailHelp={seen.email ? "The invitation is for this address alone." : undefined}
        />
        {accept.error && faults.size === 0 && <Refused refusal={accept.error} />}
        <Button type="submit" kind="primary" isBusy={accept.isPending}>
          Join {seen.account.name}
        </Button>
      </form>
    </Frame>
  );
}
