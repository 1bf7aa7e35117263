/** What the owner of the installation does with models: add, share, delete. */
import { Model, type Model as ModelRecord } from "@millrace/platform/resources/models/model.ts";
import { useState } from "react";
import type { Ask } from "../../api/client.ts";
import { useWrite } from "../../api/queries.ts";
import { Confirm } from "../../design/dialog.tsx";
import { say } from "../../design/toast.tsx";
import type { Values } from "../../forms/schema-form.tsx";
import { FormDialog } from "./account-dialogs.tsx";

interface Props {
  model: ModelRecord;
  onClose: () => void;
}

const changes = ["listModels", "listUsableModels"] as const;

export function AddModel({ onClose }: { onClose: () => void }) {
  const [value, setValue] = useState<Values>({});
  const write = useWrite("createModel", {
    changes,
    onSuccess: () => {
      onClose();
      say("The model is being copied");
    },
  });
  return (
    <FormDialog
      title="Add a model"
      about="Name a folder of the server's machine, or a network volume that a job or a Pod has filled."
      verb="Add"
      schema={Model.create}
      first={["name", "folder", "networkVolume", "everyone", "accounts"]}
      value={value}
      onChange={setValue}
      write={write}
      onSubmit={() => write.mutate({ body: value as Ask<"createModel">["body"] })}
      onClose={onClose}
    />
  );
}

export function ChangeModel({ model: { id, name, everyone, accounts }, onClose }: Props) {
  const [value, setValue] = useState<Values>({ everyone, accounts });
  const write = useWrite("updateModel", {
    changes,
    onSuccess: () => {
      onClose();
      say(`${name} is changed`);
    },
  });
  return (
    <FormDialog
      title={`Who may use ${name}`}
      about="The account of the installation's owner may use all models."
      verb="Save"
      schema={Model.update}
      value={value}
      onChange={setValue}
      write={write}
      onSubmit={() => write.mutate({ params: { id }, body: value as Ask<"updateModel">["body"] })}
      onClose={onClose}
    />
  );
}

export function DeleteModel({ model: { id, name }, onClose }: Props) {
  const write = useWrite("deleteModel", {
    changes,
    onSuccess: () => {
      onClose();
      say(`${name} is deleted`);
    },
  });
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={`Delete ${name}?`}
      verb="Delete"
      isBusy={write.isPending}
      refusal={write.error}
      onConfirm={() => write.mutate({ params: { id } })}
    >
      Its files are deleted from all machines. It is refused while an endpoint names it.
    </Confirm>
  );
}
