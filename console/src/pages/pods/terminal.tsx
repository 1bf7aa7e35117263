/** A shell in a Pod. */
import type { Pod } from "@millrace/platform/resources/pods/model.ts";
import { call } from "../../api/client.ts";
import { useMayNot } from "../../api/me.ts";
import { Empty } from "../../design/layout.tsx";
import { Terminal } from "../../design/terminal.tsx";
import { PodFrame } from "./frame.tsx";

export function PodTerminal() {
  return <PodFrame>{(pod) => <Shell pod={pod} />}</PodFrame>;
}

function Shell({ pod }: { pod: Pod }) {
  const mayNot = useMayNot("pods:exec");
  if (mayNot) return <Empty title="You may not open a terminal">{mayNot}</Empty>;
  return (
    <Terminal
      key={pod.id}
      label={`Terminal in ${pod.name}`}
      ask={(size) => call("createPodTerminal", { params: { id: pod.id }, body: size })}
    />
  );
}
