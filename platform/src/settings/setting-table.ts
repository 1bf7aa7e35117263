/** Every setting of the server, once: its variable, its flag, its default, what it does, and how its text is read. */
import { parseRanges } from "../kernel/addresses.ts";
import { parseOrigins } from "../kernel/origins.ts";
import { DEFAULT_DATA_FOLDER } from "./data-folder.ts";
import { groupSettings } from "./group-settings.ts";
import { hubSettings } from "./hub-settings.ts";
import { keepingSettings } from "./keeping-settings.ts";
import { kubernetesSettings } from "./kubernetes-settings.ts";
import { limitSettings } from "./limit-settings.ts";
import { listenerSettings } from "./listener-settings.ts";
import { logSettings } from "./log-settings.ts";
import {
  address,
  apiKey,
  domain,
  folder,
  folders,
  hostAndPort,
  oneOf,
  origin,
  outputSizes,
  portChoice,
  portRange,
  postgresUrl,
  text,
  whole,
} from "./setting-values.ts";
import { signOnSettings } from "./sign-on-settings.ts";

export interface Setting<T = unknown> {
  variable: string;
  /** Absent for a secret, because every user of the machine can read a command line. */
  flag?: string;
  /** The value is passed to no program that the server starts, and appears in no message. */
  secret?: true;
  /** The placeholder of the value in the help. */
  value: string;
  default?: string;
  about: string;
  /** Throws what the text must be, in words that follow the variable's name. */
  read(text: string): T;
}

export const settingTable = {
  port: {
    flag: "port",
    variable: "MILLRACE_PORT",
    value: "P",
    default: "7420",
    about: "port to listen on",
    read: whole(0, 65_535),
  },
  host: {
    flag: "host",
    variable: "MILLRACE_HOST",
    value: "ADDRESS",
    default: "127.0.0.1",
    about: "address to listen on",
    read: text,
  },
  ...listenerSettings,
  data: {
    flag: "data",
    variable: "MILLRACE_DATA",
    value: "DIR",
    default: DEFAULT_DATA_FOLDER,
    about: "folder for all data: databases, keys, logs and volumes",
    read: folder,
  },
  databaseUrl: {
    secret: true,
    variable: "MILLRACE_DATABASE_URL",
    value: "URL",
    about: "postgres://… stores records and jobs in PostgreSQL instead of the data folder",
    read: postgresUrl,
  },
  databaseTimeoutS: {
    flag: "database-timeout-s",
    variable: "MILLRACE_DATABASE_TIMEOUT_S",
    value: "SECONDS",
    default: "10",
    about: "time limit for one PostgreSQL statement; requests that need a slower one get 503",
    read: whole(1, 3600),
  },
  databaseUrlFile: {
    flag: "database-url-file",
    variable: "MILLRACE_DATABASE_URL_FILE",
    value: "FILE",
    about: "file with the same URL, for setups that keep passwords out of environment variables",
    read: text,
  },
  apiKey: {
    secret: true,
    variable: "MILLRACE_API_KEY",
    value: "KEY",
    about: "API key of the owner; default: a new one, made at the first start",
    read: apiKey,
  },
  masterKey: {
    secret: true,
    variable: "MILLRACE_MASTER_KEY",
    value: "BASE64",
    about: "master keys that encrypt secrets, comma separated, newest first",
    read: text,
  },
  masterKeyCommand: {
    secret: true,
    variable: "MILLRACE_MASTER_KEY_COMMAND",
    value: "COMMAND",
    about: "command that prints the master key",
    read: text,
  },
  upgradeCopy: {
    flag: "upgrade-copy",
    variable: "MILLRACE_UPGRADE_COPY",
    value: "WHETHER",
    default: "on",
    about: "on copies a SQLite file of an older release, inside the data folder, before it is upgraded; off does not",
    read: oneOf(["on", "off"]),
  },
  ...signOnSettings,
  ...limitSettings,
  graphqlIntrospection: {
    flag: "graphql-introspection",
    variable: "MILLRACE_GRAPHQL_INTROSPECTION",
    value: "WHETHER",
    default: "off",
    about: "on lets clients query the GraphQL schema; off does not",
    read: oneOf(["off", "on"]),
  },
  uniqueNames: {
    flag: "unique-names",
    variable: "MILLRACE_UNIQUE_NAMES",
    value: "WHETHER",
    default: "on",
    about:
      "on makes REST v1 and GraphQL refuse a name that another Pod, endpoint or volume of the account has; off is for clients that reuse names",
    read: oneOf(["on", "off"]),
  },
  connections: {
    flag: "connections",
    variable: "MILLRACE_CONNECTIONS",
    value: "N",
    about:
      "open connections of clients and workers; an account may hold as many as stay free; default: follows the machine's limit on open files, at most 10000",
    read: whole(10, 1_000_000),
  },
  bodiesMb: {
    flag: "bodies-mb",
    variable: "MILLRACE_BODIES_MB",
    value: "MB",
    about:
      "memory for request bodies and results in transit; an account may hold as much as stays free; default: an eighth of the machine's memory, 256 to 2048",
    read: whole(1, 1_000_000),
  },
  publicUrl: {
    flag: "public-url",
    variable: "MILLRACE_PUBLIC_URL",
    value: "URL",
    about:
      "base of the URLs in answers; default: the listening address; one elsewhere means that others reach the server through a proxy",
    read: address,
  },
  domain: {
    flag: "domain",
    variable: "MILLRACE_DOMAIN",
    value: "NAME",
    about: "domain for <endpoint id>.NAME (load-balancing endpoints) and <Pod id>-<port>.NAME (HTTP ports of Pods)",
    read: domain,
  },
  podPorts: {
    flag: "pod-ports",
    variable: "MILLRACE_POD_PORTS",
    value: "MODE",
    default: "private",
    about:
      "who reaches HTTP ports of Pods: private (needs an API key of the account, or a link made with one) or public (anyone)",
    read: oneOf(["private", "public"]),
  },
  corsOrigins: {
    flag: "cors-origins",
    variable: "MILLRACE_CORS_ORIGINS",
    value: "ORIGINS",
    about: "origins of web pages that may call endpoints, comma separated, or '*'; default: none",
    read: parseOrigins,
  },
  workerUrl: {
    flag: "worker-url",
    variable: "MILLRACE_WORKER_URL",
    value: "URL",
    about: "address at which workers reach this server; default: the public URL",
    read: address,
  },
  nodeUrl: {
    flag: "node-url",
    variable: "MILLRACE_NODE_URL",
    value: "URL",
    about: "address at which other nodes on the same PostgreSQL reach this one; default: an address it listens on",
    read: origin,
  },
  dataCenter: {
    flag: "data-center",
    variable: "MILLRACE_DATA_CENTER",
    value: "ID",
    about: "data center of this machine, from the catalog; default: it counts as part of every one",
    read: text,
  },
  volumes: {
    flag: "volumes",
    variable: "MILLRACE_VOLUMES",
    value: "DIR",
    about:
      "folder for network volumes that all machines share, such as an NFS mount; default: each volume is on one machine, and Pods and workers that mount it run there",
    read: folder,
  },
  catalog: {
    flag: "catalog",
    variable: "MILLRACE_CATALOG",
    value: "FILE",
    about: "JSON file with your own prices, data centers and GPU types (docs/catalog.md)",
    read: folder,
  },
  compute: {
    flag: "compute",
    variable: "MILLRACE_COMPUTE",
    value: "KIND",
    default: "host",
    about:
      "host starts workers on this machine; kubernetes starts them on a cluster (docs/kubernetes.md); none leaves that to other servers, or to you by hand",
    read: oneOf(["host", "kubernetes", "none"]),
  },
  gpus: {
    flag: "gpus",
    variable: "MILLRACE_GPUS",
    value: "MODE",
    default: "auto",
    about:
      "auto offers the machine's GPUs, or virtual ones if it has none and only this machine reaches the server; virtual always offers virtual ones; none offers none",
    read: oneOf(["auto", "virtual", "none"]),
  },
  docker: {
    flag: "docker",
    variable: "MILLRACE_DOCKER",
    value: "SOCKET",
    default: "auto",
    about: "engine for container images: auto finds Docker or Podman; or a socket such as /var/run/docker.sock; or off",
    read: text,
  },
  sandbox: {
    flag: "sandbox",
    variable: "MILLRACE_SANDBOX",
    value: "MODE",
    default: "auto",
    about:
      "auto refuses programs and containers that cannot be isolated, except the owner's where only this machine reaches the server and there is one account; optional runs them all",
    read: oneOf(["auto", "optional"]),
  },
  hostImages: {
    flag: "host-images",
    variable: "MILLRACE_HOST_IMAGES",
    value: "MODE",
    default: "auto",
    about: "who may run `host` images: auto (only the first account, the owner's), on (every account) or off",
    read: oneOf(["auto", "on", "off"]),
  },
  hostRoots: {
    flag: "host-roots",
    variable: "MILLRACE_HOST_ROOTS",
    value: "DIRS",
    about:
      "folders that may contain `host` images, separated by colons; default: any folder except those of the system",
    read: folders,
  },
  hostReadable: {
    flag: "host-readable",
    variable: "MILLRACE_HOST_READABLE",
    value: "DIRS",
    about:
      "further folders that `host` programs see, read-only and at the same paths, separated by colons, such as a Python in /opt/venv",
    read: folders,
  },
  hostApp: {
    flag: "host-app",
    variable: "MILLRACE_HOST_APP",
    value: "MODE",
    default: "read-only",
    about: "access of programs to the folder of a `host` image: read-only or writable",
    read: oneOf(["read-only", "writable"]),
  },
  watchdogS: {
    flag: "watchdog-s",
    variable: "MILLRACE_WATCHDOG_S",
    value: "SECONDS",
    default: "60",
    about: "workers end if their server is gone for this long",
    read: whole(1, 86_400),
  },
  outputMb: {
    flag: "output-mb",
    variable: "MILLRACE_OUTPUT_MB",
    value: "P,M",
    default: "12,1024",
    about: "disk space in MB for unread output of `host` programs: for each, and for all together",
    read: outputSizes,
  },
  publishedPorts: {
    flag: "published-ports",
    variable: "MILLRACE_PUBLISHED_PORTS",
    value: "RANGE",
    default: "20000-29999",
    about:
      "ports of this machine for published ports: the first half for `host` programs, the second half for containers",
    read: portRange,
  },
  sshPort: {
    flag: "ssh-port",
    variable: "MILLRACE_SSH_PORT",
    value: "P",
    default: "auto",
    about:
      "port for SSH to Pods: auto (7422, or a free port if that is taken, kept from then on), a number, or off; if it is not available, the server starts without SSH",
    read: portChoice,
  },
  sshAddress: {
    flag: "ssh-address",
    variable: "MILLRACE_SSH_ADDRESS",
    value: "HOST[:PORT]",
    about: "SSH address that Pods show to clients; default: the host of the public URL with the SSH port",
    read: hostAndPort,
  },
  frozenS: {
    flag: "frozen-s",
    variable: "MILLRACE_FROZEN_S",
    value: "SECONDS",
    default: "3600",
    about: "a frozen worker (FlashBoot) ends after this time",
    read: whole(1, 864_000),
  },
  frozenMb: {
    flag: "frozen-mb",
    variable: "MILLRACE_FROZEN_MB",
    value: "MB",
    about:
      "measured memory that all frozen workers of a machine may hold together; default: half of the machine's memory; 0 turns freezing off",
    read: whole(0, 100_000_000),
  },
  stream: {
    flag: "stream",
    variable: "MILLRACE_STREAM",
    value: "FORM",
    default: "auto",
    about: "default format of /stream: array, object, or auto (array for a bare key, object for a Bearer key)",
    read: oneOf(["auto", "array", "object"]),
  },
  restV1: {
    flag: "rest-v1",
    variable: "MILLRACE_REST_V1",
    value: "SWITCH",
    default: "on",
    about: "on serves the deprecated REST v1 under /v1; off answers 410 with the REST v2 path (docs/rest-v1.md)",
    read: oneOf(["on", "off"]),
  },
  webhookPrivate: {
    flag: "webhook-private",
    variable: "MILLRACE_WEBHOOK_PRIVATE",
    value: "allow",
    about: "'allow' lets webhooks reach private addresses",
    read: oneOf(["allow"]),
  },
  reachable: {
    flag: "reachable",
    variable: "MILLRACE_REACHABLE",
    value: "RANGES",
    about: "private addresses that webhooks and programs may reach, such as 10.1.0.0/16,192.168.1.5, or 'all'",
    read: parseRanges,
  },
  webhookSecret: {
    secret: true,
    variable: "MILLRACE_WEBHOOK_SECRET",
    value: "TEXT",
    about: "secret that signs webhooks; default: they are not signed",
    read: text,
  },
  ...hubSettings,
  ...groupSettings,
  ...kubernetesSettings,
  ...keepingSettings,
  ...logSettings,
} satisfies Record<string, Setting>;
