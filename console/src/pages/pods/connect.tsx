/** How to reach a Pod: SSH, HTTP ports by a link that works once, and TCP ports. */
import type { Pod } from "@millrace/platform/resources/pods/model.ts";
import { Link } from "@tanstack/react-router";
import { ExternalLink, SquareTerminal } from "lucide-react";
import { useState } from "react";
import { call } from "../../api/client.ts";
import { useMayNot } from "../../api/me.ts";
import { Button, ButtonLink } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import { Panel } from "../../design/layout.tsx";
import { sayRefused } from "../../design/toast.tsx";
import css from "./pods.module.css";
import { portsOf, type ShownPort } from "./ports-of.ts";

export function Connect({ pod }: { pod: Pod }) {
  const mayNotExec = useMayNot("pods:exec");
  const isUp = pod.status === "RUNNING";
  const { proxy, direct } = pod.ssh;
  const ports = portsOf(pod);
  return (
    <Panel
      title="Connect"
      actions={
        !mayNotExec &&
        isUp && (
          <ButtonLink size="small" icon={<SquareTerminal />} to="/pods/$id/terminal" params={{ id: pod.id }}>
            Open a terminal
          </ButtonLink>
        )
      }
    >
      <div className={css.stack}>
        {!isUp && <p className={css.note}>It does not run now. These work once it does.</p>}
        {ports.map((port) => (
          <PortLine key={`${port.number}/${port.type}`} pod={pod} port={port} />
        ))}
        {ports.length === 0 && (
          <p className={css.note}>
            It exposes no ports. Add one in its{" "}
            <Link to="/pods/$id/settings" params={{ id: pod.id }}>
              settings
            </Link>
            .
          </p>
        )}
        {proxy && (
          <div>
            <h3 className={css.label}>SSH, with a key of the account</h3>
            <Code text={proxy.command} label="Copy the SSH command" />
            <p className={css.note}>
              Your public key has to be among the <Link to="/account/ssh-keys">SSH keys</Link> of the account.
            </p>
          </div>
        )}
        {direct && (
          <div>
            <h3 className={css.label}>SSH, straight to a server of its own</h3>
            <Code text={direct.command} label="Copy the direct SSH command" />
          </div>
        )}
      </div>
    </Panel>
  );
}

function PortLine({ pod, port }: { pod: Pod; port: ShownPort }) {
  return (
    <div className={css.port}>
      <span>
        <code>{port.number}</code> <span className="quiet">{port.type.toUpperCase()}</span>
      </span>
      <PortWay pod={pod} port={port} />
    </div>
  );
}

/** The way to a port: a button for HTTP, an address for TCP, or why there is none. */
export function PortWay({ pod, port }: { pod: Pod; port: ShownPort }) {
  if (port.type === "http") return <OpenPort pod={pod} number={port.number} />;
  if (port.address === undefined) return <span className="quiet">{port.missing}</span>;
  return <Code text={port.address} label={`Copy the address of port ${port.number}`} />;
}

/** The link works once, so that it is made when it is opened. */
function OpenPort({ pod, number }: { pod: Pod; number: number }) {
  const mayNot = useMayNot("pods:write");
  const [isBusy, setBusy] = useState(false);
  const open = async () => {
    setBusy(true);
    // The tab is opened by the press itself, because a browser blocks one that opens later. It knows nothing of this page.
    const tab = window.open("about:blank", "_blank");
    try {
      const { url } = await call("createPodPortLink", { params: { id: pod.id, port: String(number) } });
      if (tab) {
        tab.opener = null;
        tab.location.replace(url);
      } else window.open(url, "_blank", "noopener,noreferrer");
    } catch (error) {
      tab?.close();
      sayRefused(error);
    }
    setBusy(false);
  };
  return (
    <Button
      size="small"
      icon={<ExternalLink />}
      isBusy={isBusy}
      refused={mayNot ?? (pod.status !== "RUNNING" && "It does not run now")}
      onClick={() => void open()}
    >
      Open port {number}
    </Button>
  );
}
