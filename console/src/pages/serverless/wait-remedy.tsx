/** Buttons that do, or lead to, what the remedy of a waiting job says. */
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import { ButtonLink } from "../../design/button.tsx";

/** Where the remedy of a reason is, by words in its code. The settings are where most of them end. */
const REMEDIES: readonly [part: RegExp, to: "workers" | "logs" | "settings", label: string][] = [
  [/crash|boot|fail|exit|health|warm/, "logs", "See the logs"],
  [/busy|paused|max|delay|priority|limit|quota/, "settings", "Change the workers"],
  [/capacity|room|place|start|pull|machine|silent/, "workers", "See the workers"],
];

export function WaitRemedy({ code, endpoint }: { code: string | undefined | null; endpoint: Pick<Endpoint, "id"> }) {
  const [, to, label] = REMEDIES.find(([part]) => part.test(code ?? "")) ?? [undefined, "workers", "See the workers"];
  return (
    <ButtonLink size="small" to={`/serverless/$id/${to}` as "/serverless/$id/workers"} params={{ id: endpoint.id }}>
      {label}
    </ButtonLink>
  );
}
