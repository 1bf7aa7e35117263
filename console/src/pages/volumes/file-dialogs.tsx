/** Dialogs of the file browser: a new folder, a new place for a file, and what is lost with a deletion. */
import type { VolumeFile } from "@millrace/platform/resources/volume-files/model.ts";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../../api/client.ts";
import { useWrite } from "../../api/queries.ts";
import type { Refusal } from "../../api/refusal.ts";
import { Button } from "../../design/button.tsx";
import { Confirm, Dialog, DialogFoot } from "../../design/dialog.tsx";
import { TextField } from "../../design/field.tsx";
import { Refused } from "../../design/layout.tsx";
import { say } from "../../design/toast.tsx";
import { faultOfPath, joined } from "./paths.ts";
import css from "./volumes.module.css";

const CHANGED = ["listVolumeFiles"] as const;

export function NewFolder({ volume, folder, onClose }: { volume: string; folder: string; onClose: () => void }) {
  const [name, setName] = useState("");
  const create = useWrite("createVolumeFolder", {
    changes: CHANGED,
    onSuccess: () => {
      say(`${name} was created`);
      onClose();
    },
  });
  const fault = faultOfPath(joined(folder, name));
  return (
    <Dialog isOpen onClose={onClose} title="New folder">
      <form
        className={css.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (name !== "" && !fault) create.mutate({ params: { id: volume }, body: { path: joined(folder, name) } });
        }}
      >
        <TextField
          label="Name"
          value={name}
          onChange={setName}
          autoFocus
          help="Slashes make folders in folders."
          fault={name === "" ? undefined : fault}
        />
        {create.error && <Refused refusal={create.error} />}
        <DialogFoot onCancel={onClose}>
          <Button type="submit" kind="primary" refused={name === "" ? "Enter a name" : fault} isBusy={create.isPending}>
            Create folder
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

export function MoveFile({ volume, file, onClose }: { volume: string; file: VolumeFile; onClose: () => void }) {
  const [to, setTo] = useState(file.path);
  const move = useWrite("moveVolumeFile", {
    changes: CHANGED,
    onSuccess: (moved) => {
      say(`It is now at ${moved.path}`);
      onClose();
    },
  });
  const fault = to === file.path ? "It is there already" : faultOfPath(to);
  return (
    <Dialog isOpen onClose={onClose} title={`Rename or move ${file.name}`}>
      <form
        className={css.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (!fault) move.mutate({ params: { id: volume }, body: { from: file.path, to } });
        }}
      >
        <TextField
          label="New path"
          value={to}
          onChange={setTo}
          isCode
          autoFocus
          help="From the top of the volume. Folders on the way are made, and nothing is replaced."
          fault={to === file.path ? undefined : fault}
        />
        {move.error && <Refused refusal={move.error} />}
        <DialogFoot onCancel={onClose}>
          <Button type="submit" kind="primary" refused={fault} isBusy={move.isPending}>
            Move
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

/** One call removes so many at most, so it is sent until nothing is left. */
async function removeAll(volume: string, files: readonly VolumeFile[]): Promise<number> {
  let removed = 0;
  for (const { path, kind } of files) {
    const query = { path, recursive: kind === "FOLDER" };
    for (let isComplete = false; !isComplete; ) {
      const answer = await call("deleteVolumeFiles", { params: { id: volume }, query });
      removed += answer.removed;
      isComplete = answer.isComplete;
    }
  }
  return removed;
}

interface DeleteFilesProps {
  volume: string;
  files: readonly VolumeFile[];
  onClose: () => void;
  onDone?: () => void;
}

export function DeleteFiles({ volume, files, onClose, onDone }: DeleteFilesProps) {
  const client = useQueryClient();
  const remove = useMutation<number, Refusal>({
    mutationFn: () => removeAll(volume, files),
    onSuccess: (removed) => {
      say(`${removed} ${removed === 1 ? "entry was" : "entries were"} deleted`);
      onDone?.();
      onClose();
    },
    // Some may be gone although another was refused.
    onSettled: () => client.invalidateQueries({ queryKey: ["listVolumeFiles"] }),
  });
  const folders = files.filter(({ kind }) => kind === "FOLDER");
  const only = files.length === 1 ? files[0] : undefined;
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={only ? `Delete ${only.name}?` : `Delete ${files.length} entries?`}
      verb="Delete"
      {...(folders.length > 0 && only && { typed: only.name })}
      isBusy={remove.isPending}
      refusal={remove.error}
      onConfirm={() => remove.mutate()}
    >
      {only ? <code>{only.path}</code> : files.map(({ name }) => name).join(", ")}{" "}
      {folders.length > 0 ? "and everything in the folders is lost." : "is lost."} No copy is kept.
    </Confirm>
  );
}
