/** Delegations: repositories of ECR that are meant to be opened without a password. */

import type { Delegation } from "@millrace/platform/resources/registries/model.ts";
import { Plus, Trash2 } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import type { Ask } from "../../api/client.ts";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { models } from "../../api/models.data.ts";
import { useWrite } from "../../api/queries.ts";
import { Button, IconButton } from "../../design/button.tsx";
import { Confirm, Dialog, DialogFoot } from "../../design/dialog.tsx";
import { Empty, Page, Refused } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { say } from "../../design/toast.tsx";
import { faultsOf } from "../../forms/faults.ts";
import { SchemaForm, type Values } from "../../forms/schema-form.tsx";
import { columnsFrom } from "../../parts/derived.tsx";
import { useList } from "../../parts/resource-list.tsx";
import { useView } from "../../shell/view.ts";
import { delegationColumns } from "./columns.tsx";
import css from "./registries.module.css";

const ABOUT =
  "Notes that a repository of Amazon ECR is meant to be opened without a password (beta). Nothing is pulled through a delegation here.";

export function DelegationList({ tabs }: { tabs: ReactNode }) {
  const { rows, error, refetch, more } = useList<Delegation>({ list: "listDelegations", key: "delegations" });
  const [dialog, setDialog] = useView("dialog");
  const [revoked, setRevoked] = useState<Delegation>();
  const mayNot = useMayNot("registries:write");
  const columns = useMemo(() => columnsFrom(models.registryDelegations, delegationColumns), []);
  const button = (
    <Button kind="primary" icon={<Plus />} refused={mayNot} onClick={() => setDialog("new")}>
      Create delegation
    </Button>
  );
  return (
    <Page title="Registries" about={ABOUT} curl={curlOf("listDelegations")} tabs={tabs} actions={button}>
      {error && !rows ? (
        <Refused refusal={error} retry={() => void refetch()} />
      ) : (
        <DataTable
          name="delegations"
          rows={rows}
          columns={columns}
          idOf={({ id }) => id}
          more={more}
          rowActions={(row) => (
            <IconButton
              label={`Revoke ${nameOf(row)}`}
              size="small"
              icon={<Trash2 />}
              refused={mayNot}
              onClick={() => setRevoked(row)}
            />
          )}
          empty={
            <Empty title="No delegations yet" action={button}>
              {ABOUT}
            </Empty>
          }
        />
      )}
      <CreateDelegation isOpen={dialog === "new"} onClose={() => setDialog(undefined)} />
      <Revoke delegation={revoked} onClose={() => setRevoked(undefined)} />
    </Page>
  );
}

const nameOf = ({ name, repository }: Delegation) => name ?? repository;

function CreateDelegation({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const [value, setValue] = useState<Values>({});
  const create = useWrite("createDelegation", {
    changes: ["listDelegations"],
    onSuccess: (made) => {
      setValue({});
      onClose();
      say(`${nameOf(made)} was delegated`);
    },
  });
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="Create a delegation" about={ABOUT}>
      <form
        className={css.form}
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate({ body: value as Ask<"createDelegation">["body"] });
        }}
      >
        <SchemaForm
          schema={models.registryDelegations.create}
          value={value}
          onChange={setValue}
          faults={faultsOf(create.error)}
          first={["resource", "name"]}
        />
        {create.error && <Refused refusal={create.error} />}
        <DialogFoot onCancel={onClose}>
          <Button type="submit" kind="primary" isBusy={create.isPending}>
            Create delegation
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

function Revoke({ delegation, onClose }: { delegation: Delegation | undefined; onClose: () => void }) {
  const revoke = useWrite("revokeDelegation", {
    changes: ["listDelegations"],
    onSuccess: () => {
      onClose();
      say("The delegation was revoked");
    },
  });
  return (
    <Confirm
      isOpen={delegation !== undefined}
      onClose={onClose}
      title={`Revoke the delegation ${delegation ? nameOf(delegation) : ""}?`}
      verb="Revoke"
      isBusy={revoke.isPending}
      refusal={revoke.error}
      onConfirm={() => revoke.mutate({ params: { id: delegation!.id } })}
    >
      The note that <code>{delegation?.repository}</code> may be opened without a password is lost.
    </Confirm>
  );
}
