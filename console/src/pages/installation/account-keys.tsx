/** The API keys of an account, as the operator sees, makes and revokes them. */
import type { Grant } from "@millrace/platform/kernel/scope.ts";
import { ApiKey } from "@millrace/platform/resources/account/model.ts";
import type { InstallationAccount } from "@millrace/platform/resources/administration/model.ts";
import { useState } from "react";
import type { Ask } from "../../api/client.ts";
import { useRead, useWrite } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import { Confirm, Dialog, DialogFoot } from "../../design/dialog.tsx";
import { When } from "../../design/facts.tsx";
import { Loaded } from "../../design/layout.tsx";
import { say } from "../../design/toast.tsx";
import type { Values } from "../../forms/schema-form.tsx";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { Scopes } from "../account/scopes.tsx";
import { FormDialog } from "./account-dialogs.tsx";
import css from "./installation.module.css";

interface Props {
  account: InstallationAccount;
  onClose: () => void;
}

export function AccountKeys({ account, onClose }: Props) {
  const read = useRead("listInstallationAccountKeys", { params: { id: account.id } });
  const [isMaking, setMaking] = useState(false);
  const [revoked, setRevoked] = useState<ApiKey>();
  if (isMaking) return <CreateAccountKey account={account} onClose={() => setMaking(false)} />;
  if (revoked) return <RevokeAccountKey account={account} apiKey={revoked} onClose={() => setRevoked(undefined)} />;
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`API keys of ${account.name}`}
      about="Whoever has one acts as this account."
      isDrawer
    >
      <div className={css.stack}>
        <Loaded read={read} lines={4}>
          {({ apiKeys }) => (
            <ul className={css.keys}>
              {apiKeys.map((key) => (
                <li key={key.id}>
                  <span>
                    <strong>{key.name ?? key.id}</strong>
                    <span className="quiet">
                      {key.scopes.includes("all") ? "may do everything" : key.scopes.join(", ")},{" "}
                      {key.lastUsedAt ? (
                        <>
                          used <When at={key.lastUsedAt} />
                        </>
                      ) : (
                        "never used"
                      )}
                    </span>
                  </span>
                  <Button
                    size="small"
                    kind="danger"
                    aria-label={`Revoke ${key.name ?? key.id}`}
                    onClick={() => setRevoked(key)}
                  >
                    Revoke
                  </Button>
                </li>
              ))}
            </ul>
          )}
        </Loaded>
        <DialogFoot onCancel={onClose} leaving="Close">
          <Button kind="primary" onClick={() => setMaking(true)}>
            Create API key
          </Button>
        </DialogFoot>
      </div>
    </Dialog>
  );
}

const changes = ["listInstallationAccountKeys"] as const;

function CreateAccountKey({ account: { id, name }, onClose }: Props) {
  const [value, setValue] = useState<Values>({ scopes: ["all"] });
  const create = useWrite("createInstallationAccountKey", { changes: [...changes] });
  if (create.data)
    return (
      <ShownOnce
        isOpen
        onClose={onClose}
        title={`A key of ${name} is ready`}
        about="Give it to the account's people now. It is not shown again."
        secrets={[{ label: "API key", text: create.data.key }]}
      />
    );
  return (
    <FormDialog
      title={`Create an API key of ${name}`}
      verb="Create key"
      schema={ApiKey.create}
      value={value}
      onChange={setValue}
      without={["endpoints", "expiresAt"]}
      specials={{
        scopes: ({ value: scopes, onChange, fault }) => (
          <Scopes value={(scopes as Grant[] | undefined) ?? []} onChange={onChange} fault={fault} />
        ),
      }}
      write={create}
      onSubmit={() => create.mutate({ params: { id }, body: value as Ask<"createInstallationAccountKey">["body"] })}
      onClose={onClose}
    />
  );
}

function RevokeAccountKey({ account, apiKey, onClose }: Props & { apiKey: ApiKey }) {
  const revoke = useWrite("deleteInstallationAccountKey", {
    changes: [...changes],
    onSuccess: () => {
      onClose();
      say(`${apiKey.name ?? apiKey.id} was revoked`);
    },
  });
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={`Revoke ${apiKey.name ?? apiKey.id}?`}
      verb="Revoke"
      isBusy={revoke.isPending}
      refusal={revoke.error}
      onConfirm={() => revoke.mutate({ params: { id: account.id, keyId: apiKey.id } })}
    >
      Programs of {account.name} that use it are refused from now on.
    </Confirm>
  );
}
