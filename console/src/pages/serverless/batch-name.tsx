/** Gives a batch another name. */
import type { Batch } from "@millrace/platform/resources/batches/model.ts";
import { useState } from "react";
import { useWrite } from "../../api/queries.ts";
import { BATCH_LIMITS } from "../../api/shapes.data.ts";
import { Button } from "../../design/button.tsx";
import { Dialog, DialogFoot } from "../../design/dialog.tsx";
import { TextField } from "../../design/field.tsx";
import { Refused } from "../../design/layout.tsx";
import css from "./serverless.module.css";

interface RenameProps {
  endpointId: string;
  batch: Batch;
  onClose: () => void;
}

export function RenameBatch({ endpointId, batch, onClose }: RenameProps) {
  const [name, setName] = useState(batch.displayName ?? "");
  const rename = useWrite("updateBatch", { changes: ["listBatches", "getBatch"], onSuccess: onClose });
  return (
    <Dialog isOpen onClose={onClose} title="Rename the batch">
      <form
        className={css.stack}
        onSubmit={(event) => {
          event.preventDefault();
          rename.mutate({ params: { endpoint_id: endpointId, batch_id: batch.id }, body: { displayName: name } });
        }}
      >
        <TextField label="Name" value={name} onChange={setName} maxLength={BATCH_LIMITS.displayName} />
        {rename.error && <Refused refusal={rename.error} />}
        <DialogFoot onCancel={onClose}>
          <Button type="submit" kind="primary" isBusy={rename.isPending}>
            Rename
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}
