/** Defines which records are in the event stream of their account, and what it shows of each. */
import { instances } from "../../machines/instances.ts";
import type { ListKey, StoredRecord } from "../../ports/store/store.ts";
import { apiKeys, sshKeys } from "../account/model.ts";
import { clusters } from "../clusters/model.ts";
import { endpoints } from "../endpoints/model.ts";
import { pods } from "../pods/model.ts";
import { publicEndpoints } from "../public-endpoints/model.ts";
import { registries } from "../registries/model.ts";
import { s3Keys } from "../s3-keys/model.ts";
import { secrets } from "../secrets/model.ts";
import { templates } from "../templates/model.ts";
import { networkVolumes } from "../volumes/model.ts";
import type { StreamedResource } from "./model.ts";

/** A record as the stream shows it. */
export interface Shown {
  resource: StreamedResource;
  id: string;
  version: number;
  status?: string;
  reasonCode?: string;
  endpointId?: string;
}

export interface Streamed {
  resource: StreamedResource;
  kind: string;
  /** Limits the kind to records with this key. */
  key?: ListKey;
  /** Undefined for a record that callers do not see, or do not see any more. */
  show(record: StoredRecord): Shown | undefined;
}

const plain = (resource: StreamedResource, { kind }: { kind: string }): Streamed => ({
  resource,
  kind,
  show: ({ id, version }) => ({ resource, id, version }),
});

export const streamed: readonly Streamed[] = [
  {
    resource: "pods",
    kind: pods.kind,
    show: ({ id, version, doc }) => ({ resource: "pods", id, version, ...statusOf(doc.status, doc.reason) }),
  },
  {
    resource: "workers",
    kind: instances.kind,
    key: { name: "kind", value: "worker" },
    show({ id, version, doc }) {
      if (doc.kind !== "worker" || doc.state === "GONE") return undefined;
      return { resource: "workers", id, version, endpointId: String(doc.owner), ...statusOf(doc.state, doc.reason) };
    },
  },
  plain("clusters", clusters),
  plain("serverless", endpoints),
  plain("templates", templates),
  plain("network-volumes", networkVolumes),
  plain("s3-keys", s3Keys),
  plain("public-endpoints", publicEndpoints),
  plain("registries", registries),
  plain("secrets", secrets),
  plain("api-keys", apiKeys),
  plain("ssh-keys", sshKeys),
];

export const streamedByKind: ReadonlyMap<string, Streamed> = new Map(streamed.map((one) => [one.kind, one]));

function statusOf(status: unknown, reason: unknown): Pick<Shown, "status" | "reasonCode"> {
  const code = (reason as { code?: unknown } | null | undefined)?.code;
  return { status: String(status), ...(typeof code === "string" && { reasonCode: code }) };
}
