/** The changes in an account, as one stream of events. */
import { oneOf, type Static, t } from "../../kernel/schema.ts";
import type { Scope } from "../../kernel/scope.ts";

/** The resources in the stream, each with the scope that a key needs to see it. */
export const streamedResources = {
  pods: "pods:read",
  clusters: "clusters:read",
  serverless: "serverless:read",
  workers: "serverless:read",
  templates: "templates:read",
  "network-volumes": "network-volumes:read",
  "s3-keys": "network-volumes:read",
  "public-endpoints": "serverless:read",
  registries: "registries:read",
  secrets: "secrets:read",
  "api-keys": "api-keys:read",
  "ssh-keys": "ssh-keys:read",
} as const satisfies Record<string, Scope>;
export type StreamedResource = keyof typeof streamedResources;
const resourceNames = Object.keys(streamedResources) as StreamedResource[];

/** An account can have this many streams at once on one node: a team of 50 with a second tab each. */
export const MOST_STREAMS = 100;

const count = t.Integer({ minimum: 0 });

export const JobCounts = t.Object(
  { inQueue: count, inProgress: count, completed: count, failed: count, retried: count },
  { description: "Of `jobs`: as `/v2/{endpoint_id}/health` counts them." },
);
export type JobCounts = Static<typeof JobCounts>;

export const AccountEvent = t.Object(
  {
    type: oneOf(["reset", "changed", "removed", "jobs", "end"], {
      description:
        "`reset`: read the lists now; what follows is what changed since. `changed`: a record was made or changed. " +
        "`removed`: it is gone. `jobs`: an endpoint's jobs, at most twice a second. `end`: the stream ends, and `why` says the reason.",
    }),
    why: t.Optional(t.String({ description: "Of `reset` and `end`, in words for people." })),
    resource: t.Optional(oneOf(resourceNames, { description: "Of `changed` and `removed`: what it is." })),
    id: t.Optional(t.String({ description: "Of `changed` and `removed`: which one it is." })),
    endpointId: t.Optional(t.String({ description: "Of `jobs`, and of workers: the endpoint." })),
    version: t.Optional(t.Integer({ description: "Grows with every change of the record." })),
    status: t.Optional(t.String({ description: "By the record's lifecycle, where it has one." })),
    reasonCode: t.Optional(t.String({ description: "Why it is in that status, as a code." })),
    jobs: t.Optional(JobCounts),
  },
  { $id: "AccountEvent" },
);
export type AccountEvent = Static<typeof AccountEvent>;
