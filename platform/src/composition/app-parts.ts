/** What the application stands on: its ports, the settings that concern it, and who of several nodes does a duty. */

import type { Answered } from "../guards/perform.ts";
import type { Post } from "../jobs/webhooks.ts";
import type { BodyMemory } from "../kernel/body-memory.ts";
import type { Duties } from "../kernel/duties.ts";
import { resourceId } from "../kernel/ids.ts";
import type { Reason } from "../kernel/reason.ts";
import type { NodeIdentity } from "../machines/machines.ts";
import type { OwnMachine } from "../machines/own-machine.ts";
import type { Limits } from "../ports/limits/limits.ts";
import type { Logs } from "../ports/logs/logs.ts";
import type { Queue } from "../ports/queue/queue.ts";
import type { Signals } from "../ports/signals/signals.ts";
import type { Store } from "../ports/store/store.ts";
import type { Vault } from "../ports/vault/vault.ts";
import type { RefusesImage } from "../resources/endpoints/images.ts";
import type { Settings } from "../settings/settings.ts";
import type { BucketFinder } from "../surfaces/s3/buckets.ts";
import type { Surroundings } from "./services.ts";

export interface AppParts extends Surroundings {
  store: Store;
  limits: Limits;
  queue: Queue;
  signals: Signals;
  vault: Vault;
  logs: Logs;
  /** No other process serves the same store. */
  alone: boolean;
  /** Tells the target of a webhook. */
  post: Post;
  /** Memory for bodies and results; by default what the settings say. */
  memory?: BodyMemory;
  /** What this node runs workers on. Without any, workers are started by hand, or by other nodes. */
  machines?: readonly OwnMachine[];
  /** Who this node is to others on the same store. */
  node: NodeIdentity;
  /** The roll of background duties; made for the application where nobody else notes any. */
  duties?: Duties;
  /** Why nothing new is taken on; undefined when all is well. */
  refusal?: () => Reason | undefined;
  /** Which images endpoints cannot have here. */
  refusesImage?: RefusesImage;
  /** What has files that S3 clients reach, beside volumes. */
  buckets?: readonly BucketFinder[];
  /** Resources of REST v2 beside those of the contract. */
  resources?: readonly Answered[];
}

/** What of the settings concerns the application; how many connections there may be is known by now. */
export type AppSettings = Pick<Settings, "rateLimits" | "payloadLimits" | "logDays" | "stream" | "frozenS"> &
  Partial<
    Pick<
      Settings,
      | "invokeLimits"
      | "bodiesMb"
      | "frozenMb"
      | "webhookSecret"
      | "domain"
      | "publicUrl"
      | "corsOrigins"
      | "podPorts"
      | "restV1"
      | "auditDays"
      | "logReaders"
      | "anonymousLimits"
      | "graphqlIntrospection"
      | "sshAddress"
    >
  > & { connections: number };

const LEASE_MS = 10_000;

/** Of many nodes one does a duty; two at once would be safe, and only waste work. A single process need not ask. */
export function leaseOf(
  name: string,
  { store, random, alone }: AppParts,
): ((now: number) => Promise<boolean>) | undefined {
  if (alone) return undefined;
  const holder = resourceId(random);
  return async (now) => (await store.lease({ name, holder, now, until: now + LEASE_MS })) !== undefined;
}

/** Who this node is to others; undefined where it is all there is. */
export const identityIn = ({ node, alone }: AppParts): NodeIdentity | undefined => (alone ? undefined : node);
