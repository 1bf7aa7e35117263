/** What can be done with a person: another role, disable, remove. */
import { useState } from "react";
import type { Answer } from "../../api/client.ts";
import { type Role, useMe } from "../../api/me.ts";
import { useWrite } from "../../api/queries.ts";
import { leave } from "../../api/session.ts";
import { Button } from "../../design/button.tsx";
import { Confirm, Dialog, DialogFoot } from "../../design/dialog.tsx";
import { Tick } from "../../design/field.tsx";
import { Refused } from "../../design/layout.tsx";
import { say } from "../../design/toast.tsx";
import { RoleChoice } from "../../parts/roles.tsx";
import css from "./account.module.css";

export type Person = Answer<"getPerson">;

interface PersonProps {
  person: Person;
  onClose: () => void;
}

function useUpdate(done: string, onClose: () => void) {
  return useWrite("updatePerson", {
    changes: ["listPeople", "getMe"],
    onSuccess: () => {
      onClose();
      say(done);
    },
  });
}

export function ChangeRole({ person, onClose }: PersonProps) {
  const [role, setRole] = useState<Role>(person.role);
  const update = useUpdate(`${person.email} is ${role} now`, onClose);
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`Role of ${person.name ?? person.email}`}
      about="The new role counts from the next request on."
    >
      <RoleChoice value={role} onChange={setRole} />
      {update.error && <Refused refusal={update.error} />}
      <DialogFoot onCancel={onClose}>
        <Button
          kind="primary"
          refused={role === person.role && "Nothing was changed yet"}
          isBusy={update.isPending}
          onClick={() => update.mutate({ params: { id: person.id }, body: { role } })}
        >
          Change role
        </Button>
      </DialogFoot>
    </Dialog>
  );
}

export function Disable({ person, onClose }: PersonProps) {
  const { disabled, email } = person;
  const update = useUpdate(disabled ? `${email} can sign in again` : `${email} is disabled`, onClose);
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={disabled ? `Let ${email} in again?` : `Disable ${email}?`}
      verb={disabled ? "Enable" : "Disable"}
      isBusy={update.isPending}
      refusal={update.error}
      onConfirm={() => update.mutate({ params: { id: person.id }, body: { disabled: !disabled } })}
    >
      {disabled
        ? "The person can sign in with the password they had."
        : "The person is out at once: sessions, terminals and live pages end. API keys that they made keep working. You can enable them again."}
    </Confirm>
  );
}

export function Remove({ person, onClose }: PersonProps) {
  const me = useMe();
  const [revokeKeys, setRevokeKeys] = useState(false);
  const isMe = person.id === me.data?.person?.id;
  const remove = useWrite("deletePerson", {
    changes: ["listPeople", "listInvitations", "listApiKeys"],
    onSuccess: () => {
      onClose();
      if (isMe) leave("everywhere");
      else say(`${person.email} was removed`);
    },
  });
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={isMe ? "Remove yourself from the account?" : `Remove ${person.email}?`}
      verb="Remove"
      isBusy={remove.isPending}
      refusal={remove.error}
      onConfirm={() => remove.mutate({ params: { id: person.id }, query: { revokeKeys } })}
    >
      <div className={css.stack}>
        <p>Every session ends at once, and open invitations by this person are withdrawn. What they created stays.</p>
        <Tick label="Also revoke the API keys that this person made" value={revokeKeys} onChange={setRevokeKeys} />
      </div>
    </Confirm>
  );
}
