/** Keeps an account out, or lets it in again. */
import {
  type InstallationAccount,
  UpdateInstallationAccount,
} from "@millrace/platform/resources/administration/model.ts";
import { useState } from "react";
import type { Ask } from "../../api/client.ts";
import { useWrite } from "../../api/queries.ts";
import { Confirm } from "../../design/dialog.tsx";
import { say } from "../../design/toast.tsx";
import type { Values } from "../../forms/schema-form.tsx";
import { FormDialog } from "./account-dialogs.tsx";

interface Props {
  account: InstallationAccount;
  onClose: () => void;
}

/** The fields of a change that other dialogs ask for. */
const OTHERS = Object.keys(UpdateInstallationAccount.properties).filter((name) => name !== "suspendedReason");

function useSuspension(onClose: () => void, done: string) {
  return useWrite("updateInstallationAccount", {
    changes: ["listInstallationAccounts"],
    onSuccess: () => {
      onClose();
      say(done);
    },
  });
}

export function SuspendAccount({ account: { id, name }, onClose }: Props) {
  const [value, setValue] = useState<Values>({});
  const write = useSuspension(onClose, `${name} is suspended`);
  const body = { ...value, suspended: true } as Ask<"updateInstallationAccount">["body"];
  return (
    <FormDialog
      title={`Suspend ${name}?`}
      about="Its people and keys are refused within seconds, and nothing new starts. What runs continues, and is paid for."
      verb="Suspend"
      isDanger
      schema={UpdateInstallationAccount}
      without={OTHERS}
      value={value}
      onChange={setValue}
      write={write}
      onSubmit={() => write.mutate({ params: { id }, body })}
      onClose={onClose}
    />
  );
}

export function ResumeAccount({ account: { id, name, suspendedReason }, onClose }: Props) {
  const write = useSuspension(onClose, `${name} can work again`);
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={`Let ${name} in again?`}
      verb="Resume"
      isBusy={write.isPending}
      refusal={write.error}
      onConfirm={() => write.mutate({ params: { id }, body: { suspended: false } })}
    >
      {suspendedReason ? `It was suspended: ${suspendedReason}. ` : ""}Its people and keys work again at once.
    </Confirm>
  );
}
