/** Operations on Pods. */
import type { Operations } from "../../kernel/operation.ts";
import { operationsOn } from "../../kernel/operations-on.ts";
import { closed, dateTime, oneOf, t } from "../../kernel/schema.ts";
import { LogEvent, logDescription, logQuery } from "../logs/model.ts";
import { podActions } from "./lifecycle.ts";
import { POD_BYTES, Pod } from "./model.ts";

const on = operationsOn(Pod, "/v2/pods", { tag: "Pods", scope: "pods", one: "a Pod", many: "pods" });
const list = on.list();

export const podOperations = {
  listPods: {
    ...list,
    description: "Newest first. Pods that were terminated are not among them.",
    query: t.Object({
      ...list.query.properties,
      includeClusterPods: t.Optional(
        t.Boolean({ default: false, description: "Whether members of clusters are shown too." }),
      ),
    }),
  },
  createPod: on.create({
    description:
      "From `image`, or from `templateId`, with exactly one of `gpu` and `cpu`. There is a place for it before the answer; where there is " +
      "none, the refusal says what it needs and how much of that is free.",
    refuses: ["not-found", "no-capacity", "unpaid", "over-quota"],
    bodyLimit: POD_BYTES,
  }),
  getPod: on.get({ byPod: true }),
  updatePod: on.update({
    description:
      "Changes only the fields sent; `env` replaces the whole map. Anything beyond `name`, `locked` and `idleTimeout` restarts a Pod that runs, on a " +
      "fresh container disk, and `statusReason` says so.",
    refuses: ["wrong-state"],
  }),
  deletePod: on.remove({
    description: "Ends its program and removes its persistent mount; a network volume stays.",
    refuses: ["wrong-state"],
    byPod: true,
  }),
  getPodLogs: {
    method: "GET",
    path: "/v2/pods/{id}/logs",
    summary: "Follow a Pod's log",
    description: logDescription,
    tag: "Pods",
    query: logQuery,
    events: LogEvent,
    status: 200,
    scope: "pods:read",
    narrowed: "refused",
  },
  createPodPortLink: {
    method: "POST",
    path: "/v2/pods/{id}/ports/{port}/link",
    summary: "Make a link to an HTTP port of a Pod",
    description:
      "For browsers, where ports are private. It can be opened once, within ten minutes. The browser that opens it gets a cookie for that port only, " +
      "for a day at most, and no longer than the API key that it was made with.",
    tag: "Pods",
    out: t.Object({
      url: t.String({ description: "Where to open it." }),
      expiresAt: dateTime("Until when it can be opened."),
    }),
    status: 201,
    scope: "pods:write",
    narrowed: "refused",
    refuses: ["rule-broken"],
  },
  podAction: {
    ...on.act({ moves: {} as Record<(typeof podActions)[number], unknown> }),
    summary: "Start, stop, restart or terminate a Pod",
    description:
      "`actions` of the Pod says which of them it takes now. `restart` begins with a fresh container disk. `terminate` answers without a body.",
    refuses: ["wrong-state", "unpaid"],
    emptyStatus: 204,
    byPod: true,
    in: closed({ action: oneOf(podActions) }),
  },
} satisfies Operations;
