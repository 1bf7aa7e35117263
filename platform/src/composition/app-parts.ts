/** What the application is built on: its ports and its settings. */

import type { Answered } from "../guards/perform.ts";
import type { Post } from "../jobs/webhooks.ts";
import type { BodyMemory } from "../kernel/body-memory.ts";
import type { Duties } from "../kernel/duties.ts";
import type { Instruments } from "../kernel/instruments.ts";
import type { Reason } from "../kernel/reason.ts";
import type { Tracing } from "../kernel/tracing.ts";
import type { NodeIdentity } from "../machines/machines.ts";
import type { OwnMachine } from "../machines/own-machine.ts";
import type { DiskRoom } from "../ports/disk.ts";
import type { Files } from "../ports/files/files.ts";
import type { Limits } from "../ports/limits/limits.ts";
import type { ListingSource } from "../ports/listings/listings.ts";
import type { Logs } from "../ports/logs/logs.ts";
import type { Passwords } from "../ports/passwords/passwords.ts";
import type { Queue } from "../ports/queue/queue.ts";
import type { Signals } from "../ports/signals/signals.ts";
import type { Store } from "../ports/store/store.ts";
import type { Vault } from "../ports/vault/vault.ts";
import type { RefusesImage } from "../resources/endpoints/images.ts";
import type { SignOn } from "../resources/people/provider-sign-in.ts";
import type { Settings } from "../settings/settings.ts";
import type { Certificate } from "../surfaces/http/secure-server.ts";
import type { Ahead } from "../surfaces/http/server.ts";
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
  /** What is kept of people's passwords. */
  passwords: Passwords;
  /** The identity provider by which people sign in, if there is one. */
  signOn?: SignOn | undefined;
  /** Sends a webhook. */
  post: Post;
  /** Memory for bodies and results. The default comes from the settings. */
  memory?: BodyMemory;
  /** The machines on which this node runs workers. Without any, people or other nodes start workers. */
  machines?: readonly OwnMachine[];
  /** This node's identity for others on the same store. */
  node: NodeIdentity;
  /** The background duties. The application makes its own list if none is given. */
  duties?: Duties;
  /** What the server counts about its own work. The application makes its own if none are given. */
  instruments?: Instruments;
  /** Records traces. Without it, none are recorded. */
  tracing?: Tracing | undefined;
  /** Why the server accepts nothing new, or undefined if it does. */
  refusal?: () => Reason | undefined;
  /** The room on the disk of the data folder; absent if there is no such folder. */
  diskRoom?: () => Promise<DiskRoom>;
  /** How far this node's clock is ahead of the database's; undefined where that is not known. */
  clockAheadMs?: () => number | undefined;
  /** Which images endpoints cannot use here. */
  refusesImage?: RefusesImage;
  /** Finds buckets for S3 clients other than volumes. */
  buckets?: readonly BucketFinder[];
  /** Resources of REST v2 in addition to those of the contract. */
  resources?: readonly Answered[];
  /** Looks at requests before everything else, such as the emulator's faults. */
  ahead?: Ahead | undefined;
  /** Where the listings of the hub come from. Without any, the hub is empty. */
  listingSources?: readonly ListingSource[];
  /** Opens a folder of this machine that the operator named as a model. Without it there are none. */
  openModelFolder?: (path: string) => Promise<Files>;
  /** Where the files of the built console are, if they are; without it people get a page with links. */
  consoleFolder?: string | undefined;
  /** With it, a second listener speaks TLS. */
  certificate?: Certificate | undefined;
}

/** The settings that concern the application. The number of connections is known by now. */
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
      | "proxies"
      | "corsOrigins"
      | "podPorts"
      | "restV1"
      | "auditDays"
      | "metricsDays"
      | "batchesKept"
      | "releasesKept"
      | "webhookHours"
      | "nodeHours"
      | "resultMinutes"
      | "logReaders"
      | "s3UploadDays"
      | "anonymousLimits"
      | "graphqlIntrospection"
      | "sshAddress"
      | "metricsEndpoints"
      | "leaveS"
      | "passwordSignIn"
    >
  > & { connections: number };

/** This node's identity for others, or undefined if it is the only one. */
export const identityIn = ({ node, alone }: AppParts): NodeIdentity | undefined => (alone ? undefined : node);
