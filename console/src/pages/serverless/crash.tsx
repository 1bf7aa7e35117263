/** A failing endpoint explains itself: the reason, the brake, the last lines of its log, how to try it by hand, and the repair. */
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import type { Worker } from "@millrace/platform/resources/workers/model.ts";
import { Wrench } from "lucide-react";
import { useMemo, useRef } from "react";
import { addressOf } from "../../api/client.ts";
import { useLogs } from "../../api/logs.ts";
import { useMayNot } from "../../api/me.ts";
import { resources } from "../../api/resources.ts";
import { Button, ButtonLink } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { Panel } from "../../design/layout.tsx";
import { Reason } from "../../design/reason.tsx";
import { EditForm } from "../../parts/resource-form.tsx";
import { byHand } from "./by-hand.ts";
import { SPECIALS } from "./create.tsx";
import css from "./serverless.module.css";
import { ReleaseWarning } from "./settings.tsx";

interface CrashPanelProps {
  endpoint: Endpoint;
  failed: Worker | undefined;
  reason: string | undefined;
  code: string | undefined;
  isRepairing: boolean;
  onRepairing: (isRepairing: boolean) => void;
}

/** What is wrong is in most cases one of these. */
const REPAIRED = ["image", "cmd", "env"];

export default function CrashPanel({ endpoint, failed, reason, code, isRepairing, onRepairing }: CrashPanelProps) {
  const mayNot = useMayNot("serverless:write");
  // The program ran if its worker was started. Otherwise there is no log to show. The last one stays while the next one starts.
  const last = useRef<Worker>(undefined);
  if (failed?.startedAt) last.current = failed;
  const ran = last.current;
  return (
    <>
      <Reason text={reason ?? "Its workers do not come up."} code={code} tone="bad">
        <Button kind="primary" size="small" icon={<Wrench />} refused={mayNot} onClick={() => onRepairing(true)}>
          Repair
        </Button>
        <ButtonLink size="small" to="/serverless/$id/settings" params={{ id: endpoint.id }}>
          All settings
        </ButtonLink>
        <ButtonLink size="small" kind="quiet" to="/serverless/$id/logs" params={{ id: endpoint.id }}>
          All logs
        </ButtonLink>
      </Reason>
      <p className={css.note}>
        Millrace starts it again after 1 s, 2 s, 4 s and so on, at last once a minute, until a worker stays up. A change
        of its settings makes a new release, which is tried at once.{" "}
        {endpoint.type === "LOAD_BALANCER"
          ? "A request waits two minutes for a worker."
          : "Jobs in the queue wait and are not lost."}
      </p>
      <div className={css.columns}>
        {ran && (
          <Panel title="What it said last" about={`Worker ${ran.id}`}>
            <LastLines id={endpoint.id} worker={ran.id} />
          </Panel>
        )}
        <Panel
          title="Try the program by hand"
          about="On a machine that has it. It runs as a worker of this endpoint and shows what is wrong."
        >
          <Code text={byHand(endpoint)} label="Copy the commands" />
        </Panel>
      </div>
      <Dialog
        isOpen={isRepairing}
        onClose={() => onRepairing(false)}
        title={`Repair ${endpoint.name}`}
        about={reason}
        isDrawer
      >
        <EditForm
          resource={resources.endpoints}
          record={endpoint}
          first={REPAIRED}
          without={["gpu", "cpu", "templateId"]}
          specials={SPECIALS}
          warning={(changed) => <ReleaseWarning changed={changed} />}
          onSaved={() => onRepairing(false)}
        />
      </Dialog>
    </>
  );
}

const LINES = 20;

/** Each boot is another worker, whose log begins anew. */
function LastLines({ id, worker }: { id: string; worker: string }) {
  return <Lines key={worker} id={id} worker={worker} />;
}

function Lines({ id, worker }: { id: string; worker: string }) {
  const streams = useMemo(
    () => [
      {
        from: worker,
        address: addressOf("getWorkerLogs", { params: { id, workerId: worker }, query: { tail: LINES } }),
      },
    ],
    [id, worker],
  );
  const { lines } = useLogs(streams);
  if (lines.length === 0) return <p className={css.note}>It wrote nothing.</p>;
  return (
    <section aria-label={`Last lines of worker ${worker}`}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long log is scrolled by keyboard too */}
      <pre className={css.log} tabIndex={0}>
        {lines.slice(-LINES).map((line) => (
          <div key={line.key} data-source={line.isSystem ? "system" : "container"}>
            {line.text}
          </div>
        ))}
      </pre>
    </section>
  );
}
