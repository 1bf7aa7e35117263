/** The log of a Pod, followed. */
import { useParams } from "@tanstack/react-router";
import { useMemo } from "react";
import { addressOf } from "../../api/client.ts";
import { curlOf } from "../../api/curl.ts";
import { Log } from "../../design/log.tsx";
import { PodFrame } from "./frame.tsx";

const TAIL = 5000;

export function PodLogs() {
  const { id } = useParams({ strict: false }) as { id: string };
  const ask = useMemo(() => ({ params: { id }, query: { tail: TAIL } }), [id]);
  const streams = useMemo(() => [{ from: id, address: addressOf("getPodLogs", ask) }], [id, ask]);
  return (
    <PodFrame curl={curlOf("getPodLogs", ask)}>
      {(pod) => (
        <Log
          name={pod.name}
          streams={streams}
          empty="There are no lines yet. What the program writes to its output is shown here."
        />
      )}
    </PodFrame>
  );
}
