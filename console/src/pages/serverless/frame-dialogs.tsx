/** What can be asked of an endpoint from any of its pages: other numbers of workers, a pause, an empty queue. */
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import { useState } from "react";
import { useWrite } from "../../api/queries.ts";
import { resources } from "../../api/resources.ts";
import { Button } from "../../design/button.tsx";
import { Confirm, Dialog, DialogFoot } from "../../design/dialog.tsx";
import { Refused } from "../../design/layout.tsx";
import { say } from "../../design/toast.tsx";
import { faultsOf } from "../../forms/faults.ts";
import { SchemaForm, type Values } from "../../forms/schema-form.tsx";
import { DeleteDialog } from "../../parts/delete-dialog.tsx";
import { LostWithEndpoint } from "./lost.tsx";
import css from "./serverless.module.css";

interface DialogProps {
  endpoint: Endpoint;
  isOpen: boolean;
  onClose: () => void;
}

const CHANGES = ["getEndpoint", "listEndpoints", "listEndpointWorkers", "getEndpointHealth"] as const;
const DEFAULT_MAX = 3;

/** The fields of `workers` come from the model, with their bounds and help. */
const workersSchema = () => {
  const { properties } = resources.endpoints.model.update as { properties: Record<string, object> };
  return { ...properties.workers!, required: [] };
};

export function ScaleDialog({ endpoint, isOpen, onClose }: DialogProps) {
  const { min, max } = endpoint.workers;
  const [value, setValue] = useState<Values>({ min, max: max === 0 ? DEFAULT_MAX : max });
  const update = useWrite("updateEndpoint", {
    changes: CHANGES,
    onSuccess: () => {
      say(`${endpoint.name} now has ${value.min ?? 0} to ${value.max ?? DEFAULT_MAX} workers`);
      onClose();
    },
  });
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title={max === 0 ? `Resume ${endpoint.name}` : `Scale ${endpoint.name}`}
      about="Workers come and go between these numbers as the work asks for them. It applies at once, without a new release."
    >
      <form
        className={css.stack}
        onSubmit={(event) => {
          event.preventDefault();
          update.mutate({ params: { id: endpoint.id }, body: { workers: value } });
        }}
      >
        <SchemaForm
          schema={workersSchema()}
          value={value}
          onChange={setValue}
          first={["min", "max"]}
          without={["idleTimeout", "warmup"]}
          path="workers"
          faults={faultsOf(update.error)}
        />
        {update.error && <Refused refusal={update.error} />}
        <DialogFoot onCancel={onClose}>
          <Button type="submit" kind="primary" isBusy={update.isPending}>
            {max === 0 ? "Resume" : "Scale"}
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

export function PauseDialog({ endpoint, isOpen, onClose }: DialogProps) {
  const update = useWrite("updateEndpoint", {
    changes: CHANGES,
    onSuccess: () => {
      say(`${endpoint.name} is paused`);
      onClose();
    },
  });
  return (
    <Confirm
      isOpen={isOpen}
      onClose={onClose}
      title={`Pause ${endpoint.name}?`}
      verb="Pause"
      isBusy={update.isPending}
      refusal={update.error}
      onConfirm={() => update.mutate({ params: { id: endpoint.id }, body: { workers: { min: 0, max: 0 } } })}
    >
      Its workers end when they are done with what they have. New{" "}
      {endpoint.type === "QUEUE" ? "jobs wait" : "requests are refused"} until you resume it. Nothing is lost. It has{" "}
      {endpoint.workers.min} to {endpoint.workers.max} workers now.
    </Confirm>
  );
}

export function PurgeDialog({ endpoint, isOpen, onClose }: DialogProps) {
  const purge = useWrite("purgeQueue", {
    changes: ["getEndpointHealth", "listJobs"],
    onSuccess: (answer) => {
      const { removed } = answer as unknown as { removed: number };
      say(`${removed} ${removed === 1 ? "job was" : "jobs were"} removed from the queue`);
      onClose();
    },
  });
  return (
    <Confirm
      isOpen={isOpen}
      onClose={onClose}
      title={`Purge the queue of ${endpoint.name}?`}
      verb="Purge"
      isBusy={purge.isPending}
      refusal={purge.error}
      onConfirm={() => purge.mutate({ params: { endpoint_id: endpoint.id } })}
    >
      All jobs that wait are removed and do not run. Jobs in progress go on.
    </Confirm>
  );
}

export type FrameDialog = "scale" | "pause" | "purge" | "delete";

interface FrameDialogsProps {
  endpoint: Endpoint;
  /** The one that is open. */
  open: FrameDialog | undefined;
  onClose: () => void;
}

export default function FrameDialogs({ endpoint, open, onClose }: FrameDialogsProps) {
  return (
    <>
      <ScaleDialog key={`${open}`} endpoint={endpoint} isOpen={open === "scale"} onClose={onClose} />
      <PauseDialog endpoint={endpoint} isOpen={open === "pause"} onClose={onClose} />
      <PurgeDialog endpoint={endpoint} isOpen={open === "purge"} onClose={onClose} />
      <DeleteDialog resource={resources.endpoints} record={endpoint} isOpen={open === "delete"} onClose={onClose}>
        <LostWithEndpoint endpoint={endpoint} />
      </DeleteDialog>
    </>
  );
}
