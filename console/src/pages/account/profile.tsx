/** Who is signed in: their name, how they sign in, and their sessions in browsers. */
import { useState } from "react";
import type { Ask } from "../../api/client.ts";
import { curlOf } from "../../api/curl.ts";
import { type Me, needsPassword, useMe } from "../../api/me.ts";
import { useWrite } from "../../api/queries.ts";
import { leaveAfter } from "../../api/session.ts";
import { Button } from "../../design/button.tsx";
import { Id, useNow } from "../../design/facts.tsx";
import { TextField } from "../../design/field.tsx";
import { Facts, Loaded, Panel, Refused } from "../../design/layout.tsx";
import { say, sayRefused } from "../../design/toast.tsx";
import { faultsOf } from "../../forms/faults.ts";
import { roleWords } from "../../parts/roles.tsx";
import css from "./account.module.css";
import { AccountPage } from "./frame.tsx";
import { Sessions } from "./sessions.tsx";

/** What the first owner is called until they say otherwise. */
const PLACEHOLDER = "owner@localhost";

export function Profile() {
  const me = useMe();
  const signOut = useWrite("signOut", { onSuccess: leaveAfter });
  return (
    <AccountPage
      name="Profile"
      curl={curlOf("getMe")}
      actions={
        me.data?.session && (
          <Button isBusy={signOut.isPending} onClick={() => signOut.mutate({}, { onError: sayRefused })}>
            Sign out
          </Button>
        )
      }
    >
      <Loaded read={me}>{(data) => <Shown me={data} />}</Loaded>
    </AccountPage>
  );
}

function Shown({ me }: { me: Me }) {
  const { person } = me;
  if (!person) {
    return (
      <Panel title="You are signed in with an API key" about="A key has no profile and no sessions.">
        <Facts
          rows={[
            ["Key", me.key?.name ?? me.key?.id],
            ["Scopes", me.scopes.join(", ")],
          ]}
        />
      </Panel>
    );
  }
  return (
    <>
      {!person.passwordSet && !person.byProvider && <PasswordForm me={me} />}
      <Panel title="You">
        <Facts
          rows={[
            ["Email", person.email === PLACEHOLDER ? "Not set yet" : person.email],
            ["Role", `${person.role}. ${roleWords[person.role]}`],
            ...(person.byProvider ? [["Signs in by", "the identity provider"] as [string, string]] : []),
            ["Account", <Id key="account" value={me.account.id} />],
          ]}
        />
        <NameForm name={person.name} />
      </Panel>
      {person.passwordSet && !person.byProvider && (
        <div className={css.two}>
          <EmailForm me={me} email={person.email} />
          <PasswordForm me={me} />
        </div>
      )}
      <Sessions />
    </>
  );
}

function useUpdateMe(done: string, onSuccess: () => void = () => {}) {
  return useWrite("updateMe", {
    changes: ["getMe", "listSessions", "listPeople"],
    onSuccess: () => {
      say(done);
      onSuccess();
    },
  });
}

function NameForm({ name }: { name: string | null }) {
  const [value, setValue] = useState(name ?? "");
  const update = useUpdateMe("Your name was saved");
  const refused = value === (name ?? "") ? "Nothing was changed yet" : value === "" ? "A name is not empty" : false;
  return (
    <form
      className={css.line}
      onSubmit={(event) => {
        event.preventDefault();
        if (!refused) update.mutate({ body: { name: value } });
      }}
    >
      <TextField label="Name" value={value} onChange={setValue} autoComplete="name" maxLength={191} />
      <Button type="submit" isBusy={update.isPending} refused={refused}>
        Save
      </Button>
      {update.error && <Refused refusal={update.error} />}
    </form>
  );
}

function EmailForm({ me, email }: { me: Me; email: string }) {
  const [value, setValue] = useState(email);
  const [current, setCurrent] = useState("");
  const update = useUpdateMe("Your email address was changed", () => setCurrent(""));
  const isChanged = value !== email;
  const asks = needsPassword(me, useNow());
  const faults = faultsOf(update.error);
  return (
    <Panel title="Email" about="You sign in by it.">
      <form
        className={css.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (isChanged) update.mutate({ body: { email: value, ...(asks && { currentPassword: current }) } });
        }}
      >
        <TextField
          label="Email"
          type="email"
          value={value}
          onChange={setValue}
          autoComplete="email"
          isRequired
          fault={faults.get("email")}
        />
        {isChanged && asks && (
          <CurrentPassword value={current} onChange={setCurrent} fault={faults.get("currentPassword")} />
        )}
        {update.error && faults.size === 0 && <Refused refusal={update.error} />}
        <div>
          <Button type="submit" isBusy={update.isPending} refused={!isChanged && "Nothing was changed yet"}>
            Change email
          </Button>
        </div>
      </form>
    </Panel>
  );
}

function PasswordForm({ me }: { me: Me }) {
  const { email, passwordSet } = me.person!;
  const asksEmail = !passwordSet;
  const [address, setAddress] = useState(email === PLACEHOLDER ? "" : email);
  const [password, setPassword] = useState("");
  const [current, setCurrent] = useState("");
  const update = useUpdateMe(passwordSet ? "Your password was changed" : "Your password is set", () => {
    setPassword("");
    setCurrent("");
  });
  const asks = needsPassword(me, useNow());
  const faults = faultsOf(update.error);
  const body: Ask<"updateMe">["body"] = {
    newPassword: password,
    ...(asksEmail && { email: address }),
    ...(asks && { currentPassword: current }),
  };
  return (
    <Panel
      title={passwordSet ? "Change the password" : "Set a password"}
      about={
        passwordSet
          ? "All your other sessions end."
          : "Then you can come back from any browser. Until then a link from ./millrace open is the only way in."
      }
    >
      <form
        className={css.form}
        onSubmit={(event) => {
          event.preventDefault();
          update.mutate({ body });
        }}
      >
        {asksEmail && (
          <TextField
            label="Email"
            type="email"
            value={address}
            onChange={setAddress}
            autoComplete="username"
            isRequired
            help="You sign in by it. Nothing is sent there."
            fault={faults.get("email")}
          />
        )}
        {asks && <CurrentPassword value={current} onChange={setCurrent} fault={faults.get("currentPassword")} />}
        <TextField
          label="New password"
          type="password"
          value={password}
          onChange={setPassword}
          autoComplete="new-password"
          isRequired
          help="At least 10 characters. Nothing else is asked of it."
          fault={faults.get("newPassword")}
        />
        {update.error && faults.size === 0 && <Refused refusal={update.error} />}
        <div>
          <Button type="submit" kind={passwordSet ? "plain" : "primary"} isBusy={update.isPending}>
            {passwordSet ? "Change password" : "Set password"}
          </Button>
        </div>
      </form>
    </Panel>
  );
}

interface CurrentPasswordProps {
  value: string;
  onChange: (value: string) => void;
  fault: string | undefined;
}

function CurrentPassword({ value, onChange, fault }: CurrentPasswordProps) {
  return (
    <TextField
      label="Current password"
      type="password"
      value={value}
      onChange={onChange}
      autoComplete="current-password"
      isRequired
      fault={fault}
    />
  );
}
