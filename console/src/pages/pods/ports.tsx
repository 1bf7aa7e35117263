/** The ports of a Pod: where each is reached, and how to open it. */
import type { Pod } from "@millrace/platform/resources/pods/model.ts";
import { curlOf } from "../../api/curl.ts";
import { ButtonLink } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import { Id } from "../../design/facts.tsx";
import { Empty, Panel } from "../../design/layout.tsx";
import { PortWay } from "./connect.tsx";
import { PodFrame } from "./frame.tsx";
import css from "./pods.module.css";
import { portsOf } from "./ports-of.ts";

export function PodPorts() {
  return <PodFrame>{(pod) => <Ports pod={pod} />}</PodFrame>;
}

function Ports({ pod }: { pod: Pod }) {
  const ports = portsOf(pod);
  if (ports.length === 0) {
    return (
      <Empty
        title="No ports are exposed"
        action={
          <ButtonLink kind="primary" to="/pods/$id/settings" params={{ id: pod.id }}>
            Add a port
          </ButtonLink>
        }
      >
        A port makes a program in the Pod reachable: HTTP by a web address, TCP by a number of its own.
      </Empty>
    );
  }
  const http = ports.find(({ type }) => type === "http");
  return (
    <>
      <Panel title="Ports" isFlush>
        <table className={css.table}>
          <thead>
            <tr>
              <th>Port</th>
              <th>Kind</th>
              <th>Address</th>
              <th>
                <span className="hidden">Open</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {ports.map((port) => (
              <tr key={`${port.number}/${port.type}`}>
                <td>
                  <code>{port.number}</code>
                </td>
                <td>{port.type.toUpperCase()}</td>
                <td>
                  {port.address === undefined ? (
                    <span className="quiet">{port.missing}</span>
                  ) : (
                    <Id value={port.address} />
                  )}
                </td>
                <td>{port.type === "http" && <PortWay pod={pod} port={port} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Panel>
      {http && (
        <Panel
          title="HTTP ports are private"
          about="A browser gets in by a link that works once and within ten minutes. A program sends an API key."
        >
          <div className={css.stack}>
            <Code text={curlOf("createPodPortLink", { params: { id: pod.id, port: String(http.number) } })} />
            {http.address && <Code text={`curl ${http.address} -H "X-Millrace-Key: $MILLRACE_API_KEY"`} />}
          </div>
        </Panel>
      )}
    </>
  );
}
