/** The settings of a Pod, with what a change of each does to what runs. */

import type { Pod } from "@millrace/platform/resources/pods/model.ts";
import { useMayNot } from "../../api/me.ts";
import { models } from "../../api/models.data.ts";
import { resources } from "../../api/resources.ts";
import { Empty } from "../../design/layout.tsx";
import { Reason } from "../../design/reason.tsx";
import { labelOf } from "../../forms/schema.ts";
import type { Values } from "../../forms/schema-form.tsx";
import { mountsField } from "../../parts/mounts-field.tsx";
import { EditForm } from "../../parts/resource-form.tsx";
import { SPECIALS } from "./create-fields.tsx";
import { PodFrame } from "./frame.tsx";
import { bootsAmong } from "./state.ts";

const CPU_MOUNTS = mountsField(() => false);
const GPU_MOUNTS = mountsField(() => true);

export function PodSettings() {
  return <PodFrame>{(pod) => <Settings pod={pod} />}</PodFrame>;
}

function Settings({ pod }: { pod: Pod }) {
  const mayNot = useMayNot("pods:write");
  if (mayNot) return <Empty title="You may not change it">{mayNot}</Empty>;
  if (pod.cluster) {
    return (
      <Empty title="It is a member of a cluster">
        Members stay as the cluster made them. Nobody changes one alone.
      </Empty>
    );
  }
  const record = { ...pod, globalNetworking: pod.globalNetworking.enabled };
  return (
    <EditForm
      key={pod.id}
      resource={resources.pods}
      record={record}
      first={["name", "image", "cmd", "env", "ports", "disk", "idleTimeout", "locked"]}
      // The same command in another form; a Pod that has one shows it as `entrypoint` and `cmd`.
      without={["args"]}
      specials={{ ...SPECIALS, mounts: pod.cpu ? CPU_MOUNTS : GPU_MOUNTS }}
      warning={(changed) => <Warning pod={pod} changed={changed} />}
    />
  );
}

function Warning({ pod, changed }: { pod: Pod; changed: Values }) {
  const boots = bootsAmong(changed, models.pods.update as unknown as { properties: Record<string, unknown> });
  if (boots.length === 0) return <p className="quiet">This takes effect without a restart.</p>;
  const names = boots.map((name) => labelOf(name)).join(", ");
  if (pod.status !== "RUNNING") return <p className="quiet">{names}: this takes effect when it is started next.</p>;
  return (
    <Reason
      code={undefined}
      text={`${names}: saving restarts the Pod at once. What its program wrote to the container disk is lost${
        pod.mounts.persistent ? `; ${pod.mounts.persistent.path} stays` : ""
      }.`}
    />
  );
}
