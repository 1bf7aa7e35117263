/** Invitations that are open, and the dialog that makes one. */
import { useState } from "react";
import type { Answer } from "../../api/client.ts";
import type { Role } from "../../api/me.ts";
import { useRead, useWrite } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import type { Column } from "../../design/column.ts";
import { Dialog, DialogFoot } from "../../design/dialog.tsx";
import { When } from "../../design/facts.tsx";
import { SelectField, TextField } from "../../design/field.tsx";
import { Panel, Refused } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { say, sayRefused } from "../../design/toast.tsx";
import { faultsOf } from "../../forms/faults.ts";
import { RoleChoice } from "../../parts/roles.tsx";
import { ShownOnce } from "../../parts/shown-once.tsx";
import css from "./account.module.css";

type Invitation = Answer<"listInvitations">["invitations"][number];

const columns: Column<Invitation>[] = [
  { id: "email", title: "For", value: ({ email }) => email ?? "whoever has the link" },
  { id: "role", title: "Role", value: ({ role }) => role },
  { id: "by", title: "Invited by", value: ({ invitedBy }) => invitedBy ?? "an API key" },
  { id: "made", title: "Made", value: ({ createdAt }) => createdAt, cell: ({ createdAt }) => <When at={createdAt} /> },
  { id: "ends", title: "Ends", value: ({ expiresAt }) => expiresAt, cell: ({ expiresAt }) => <When at={expiresAt} /> },
];

/** Shown while there is one. */
export function Invitations({ mayNot }: { mayNot: string | undefined }) {
  const read = useRead("listInvitations", {});
  const withdraw = useWrite("deleteInvitation", {
    changes: ["listInvitations"],
    onSuccess: () => say("The invitation was withdrawn"),
  });
  if (read.error) return <Refused refusal={read.error} retry={() => void read.refetch()} />;
  if (!read.data?.invitations.length) return null;
  return (
    <Panel title="Open invitations" isFlush>
      <DataTable
        name="invitations"
        rows={read.data.invitations}
        columns={columns}
        idOf={({ id }) => id}
        rowActions={({ id }) => (
          <Button
            size="small"
            refused={mayNot}
            onClick={() => withdraw.mutate({ params: { id } }, { onError: sayRefused })}
          >
            Withdraw
          </Button>
        )}
        empty={null}
      />
    </Panel>
  );
}

const HOURS = [
  { value: "24", label: "1 day" },
  { value: "72", label: "3 days" },
  { value: "168", label: "1 week" },
  { value: "720", label: "30 days" },
] as const;

export function Invite({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const [role, setRole] = useState<Role>("member");
  const [email, setEmail] = useState("");
  const [hours, setHours] = useState<(typeof HOURS)[number]["value"]>("72");
  const invite = useWrite("createInvitation", { changes: ["listInvitations"] });
  const faults = faultsOf(invite.error);
  const close = () => {
    onClose();
    invite.reset();
    setEmail("");
  };
  if (invite.data) {
    return (
      <ShownOnce
        isOpen={isOpen}
        onClose={close}
        title="Send this link"
        about={
          <>
            Millrace sends no mail. Send the link to {invite.data.email ?? "the person"} yourself. It works once, and
            ends <When at={invite.data.expiresAt} />. It is not shown again.
          </>
        }
        secrets={[{ label: "Invitation link", text: invite.data.url }]}
      />
    );
  }
  return (
    <Dialog
      isOpen={isOpen}
      onClose={close}
      title="Invite a person"
      about="They get a link, by which they choose a password and come in."
    >
      <form
        className={css.stack}
        onSubmit={(event) => {
          event.preventDefault();
          invite.mutate({ body: { role, expiresInHours: Number(hours), ...(email !== "" && { email }) } });
        }}
      >
        <RoleChoice value={role} onChange={setRole} />
        <TextField
          label="Email"
          type="email"
          value={email}
          onChange={setEmail}
          isOptional
          help="With it, only a person with this address can use the link. Without it, whoever has the link can, once."
          fault={faults.get("email")}
        />
        <SelectField label="The link works for" value={hours} onChange={setHours} options={HOURS} />
        {invite.error && faults.size === 0 && <Refused refusal={invite.error} />}
        <DialogFoot onCancel={close}>
          <Button type="submit" kind="primary" isBusy={invite.isPending}>
            Make the link
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}
