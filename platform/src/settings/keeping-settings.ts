/** The settings that say how long and how much of something is kept, a part of the table of all settings. */
import { sessionDays, whole } from "./setting-values.ts";

export const keepingSettings = {
  sessionDays: {
    flag: "session-days",
    variable: "MILLRACE_SESSION_DAYS",
    value: "M,U",
    default: "30,7",
    about: "days after which a person must sign in again: at the latest, and without use",
    read: sessionDays,
  },
  metricsDays: {
    flag: "metrics-days",
    variable: "MILLRACE_METRICS_DAYS",
    value: "DAYS",
    default: "30",
    about: "the history of metrics goes back this far, at most 30 days",
    read: whole(1, 30),
  },
  batchesKept: {
    flag: "batches-kept",
    variable: "MILLRACE_BATCHES_KEPT",
    value: "N",
    default: "100",
    about: "batches kept for each endpoint; the oldest that has ended is removed first",
    read: whole(20, 1000),
  },
  releasesKept: {
    flag: "releases-kept",
    variable: "MILLRACE_RELEASES_KEPT",
    value: "N",
    default: "1000",
    about: "releases kept for each endpoint, besides its first; the oldest are removed once an hour",
    read: whole(10, 100_000),
  },
  nodeHours: {
    flag: "node-hours",
    variable: "MILLRACE_NODE_HOURS",
    value: "HOURS",
    default: "24",
    about:
      "a server that was not heard of for this long leaves the list, if its machine has nothing that may come back",
    read: whole(1, 8760),
  },
  webhookHours: {
    flag: "webhook-hours",
    variable: "MILLRACE_WEBHOOK_HOURS",
    value: "HOURS",
    default: "24",
    about: "a webhook that could not be delivered for this long after the end of its job is given up",
    read: whole(1, 168),
  },
};
