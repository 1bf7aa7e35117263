/** Removes a node that never comes back from the list. */
import type { InstallationNode } from "@millrace/platform/resources/installation/model.ts";
import { useState } from "react";
import { useWrite } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import { Confirm } from "../../design/dialog.tsx";
import { say } from "../../design/toast.tsx";

export function RemoveNode({ node }: { node: InstallationNode }) {
  const [isAsking, setAsking] = useState(false);
  const remove = useWrite("deleteInstallationNode", {
    changes: ["listInstallationNodes", "listInstallationMachines"],
    onSuccess: () => {
      setAsking(false);
      say(`${node.id} was removed`);
    },
  });
  return (
    <>
      <Button size="small" kind="danger" aria-label={`Remove ${node.id}`} onClick={() => setAsking(true)}>
        Remove
      </Button>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={`Remove ${node.id}?`}
        verb="Remove"
        isBusy={remove.isPending}
        refusal={remove.error}
        onConfirm={() => remove.mutate({ params: { id: node.id } })}
      >
        The node and its machine leave the list. Do this only if its server never comes back: what was still to be
        cleaned up there is forgotten. A node without anything goes by itself.
      </Confirm>
    </>
  );
}
