/** Releases of an endpoint: every change that reaches its workers, numbered in order. */
import type { Kept } from "../../kernel/document.ts";
import { dateTime, nullable, oneOf, type Static, t } from "../../kernel/schema.ts";

export const ReleaseChange = t.Object(
  {
    field: t.String({ description: "What changed, such as `gpuCount`, `locations` or `template.imageName`." }),
    old: t.Unknown({ description: "The value before; null when there was none." }),
    new: t.Unknown({ description: "The new value; null if it was removed." }),
  },
  { $id: "ReleaseChange" },
);
export type ReleaseChange = Static<typeof ReleaseChange>;

export const Release = t.Object(
  {
    id: t.String({ description: "Unique release identifier." }),
    version: t.Optional(nullable(t.Integer({ description: "Grows by one with every release of the endpoint." }))),
    source: oneOf(["GIT_BUILD", "MANUAL"], { description: "What made it; here always a change through the API." }),
    buildId: t.Optional(nullable(t.String())),
    createdAt: dateTime("When the endpoint was changed."),
    createdByUserId: t.Optional(nullable(t.String({ description: "Whose key was used." }))),
    workerCount: t.Integer({ minimum: 0, description: "Workers that run this release now." }),
    diff: t.Array(ReleaseChange, { description: "Empty for the first one." }),
  },
  { $id: "Release" },
);
export type Release = Static<typeof Release>;

export const Rollout = t.Object(
  {
    inProgress: t.Boolean({ description: "Whether workers of earlier releases are still there." }),
    workersOnLatest: t.Integer({ minimum: 0 }),
    workersTotal: t.Integer({ minimum: 0, description: "Without workers started by hand, which have no release." }),
    percentOnLatest: t.Integer({ minimum: 0, maximum: 100, description: "0 when there are no workers." }),
  },
  { $id: "Rollout" },
);
export type Rollout = Static<typeof Rollout>;

export type KeptRelease = {
  endpoint: string;
  version: number;
  user: string;
  diff: ReleaseChange[];
  /** Only the first release has it: those between the first and this one were too old and are removed. */
  next?: number;
};

export const releases: Kept<KeptRelease> = { kind: "release", v: 1 };
