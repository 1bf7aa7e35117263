/** Asks before a record is deleted, names what is lost with it, and deletes it. */
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useWriteAny } from "../api/queries.ts";
import type { Resource } from "../api/resources.ts";
import { Confirm } from "../design/dialog.tsx";
import { say } from "../design/toast.tsx";

interface DeleteDialogProps {
  resource: Resource;
  record: { id: string; name?: string };
  isOpen: boolean;
  onClose: () => void;
  /** What is lost with it. */
  children: ReactNode;
}

export function DeleteDialog({ resource, record, isOpen, onClose, children }: DeleteDialogProps) {
  const navigate = useNavigate();
  const name = record.name ?? record.id;
  const remove = useWriteAny(resource.remove!, {
    changes: [resource.list],
    onSuccess: () => {
      onClose();
      say(`${name} was deleted`);
      void navigate({ to: resource.path, ignoreBlocker: true });
    },
  });
  return (
    <Confirm
      isOpen={isOpen}
      onClose={onClose}
      title={`Delete ${name}?`}
      verb="Delete"
      {...(resource.isPrecious && { typed: name })}
      isBusy={remove.isPending}
      refusal={remove.error}
      onConfirm={() => remove.mutate({ params: { id: record.id } })}
    >
      {children}
    </Confirm>
  );
}
