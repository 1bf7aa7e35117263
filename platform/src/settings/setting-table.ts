/** Every setting of the server, once: its variable, its flag, its default, what it does, and how its text is read. */
import { parseRanges } from "../kernel/addresses.ts";
import { parseOrigins } from "../kernel/origins.ts";
import { DEFAULT_DATA_FOLDER } from "./data-folder.ts";
import { limitSettings } from "./limit-settings.ts";
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
  text,
  whole,
} from "./setting-values.ts";

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
  data: {
    flag: "data",
    variable: "MILLRACE_DATA",
    value: "DIR",
    default: DEFAULT_DATA_FOLDER,
    about: "folder that holds everything",
    read: folder,
  },
  databaseUrl: {
    secret: true,
    variable: "MILLRACE_DATABASE_URL",
    value: "URL",
    about: "postgres://… keeps store and queue there instead of in the data folder",
    read: text,
  },
  databaseTimeoutS: {
    flag: "database-timeout-s",
    variable: "MILLRACE_DATABASE_TIMEOUT_S",
    value: "SECONDS",
    default: "10",
    about: "how long PostgreSQL may take for one statement before what needs it is answered with 503",
    read: whole(1, 3600),
  },
  databaseUrlFile: {
    flag: "database-url-file",
    variable: "MILLRACE_DATABASE_URL_FILE",
    value: "FILE",
    about: "file that holds the same URL, for whoever keeps passwords out of variables too",
    read: text,
  },
  apiKey: {
    secret: true,
    variable: "MILLRACE_API_KEY",
    value: "KEY",
    about: "the owner's key; without it one is made at the first start",
    read: apiKey,
  },
  masterKey: {
    secret: true,
    variable: "MILLRACE_MASTER_KEY",
    value: "BASE64",
    about: "master key for secrets, newest first, comma separated",
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
    about:
      "whether a SQLite file of an older release is copied inside the data folder before it is brought to today's format: on or off",
    read: oneOf(["on", "off"]),
  },
  ...limitSettings,
  graphqlIntrospection: {
    flag: "graphql-introspection",
    variable: "MILLRACE_GRAPHQL_INTROSPECTION",
    value: "WHETHER",
    default: "off",
    about: "whether the GraphQL schema can be asked for: off or on",
    read: oneOf(["off", "on"]),
  },
  uniqueNames: {
    flag: "unique-names",
    variable: "MILLRACE_UNIQUE_NAMES",
    value: "WHETHER",
    default: "on",
    about:
      "whether REST v1 and GraphQL refuse a name that another Pod, endpoint or volume of the account has: on, or off for clients that reuse names",
    read: oneOf(["on", "off"]),
  },
  connections: {
    flag: "connections",
    variable: "MILLRACE_CONNECTIONS",
    value: "N",
    about:
      "connections of clients and workers at once, of which an account may hold as many as are free; default: by the machine's limit on open files, at most 10000",
    read: whole(10, 1_000_000),
  },
  bodiesMb: {
    flag: "bodies-mb",
    variable: "MILLRACE_BODIES_MB",
    value: "MB",
    about:
      "memory for bodies and results on their way, of which an account may hold as much as is free; default: an eighth of the machine's, 256 to 2048",
    read: whole(1, 1_000_000),
  },
  publicUrl: {
    flag: "public-url",
    variable: "MILLRACE_PUBLIC_URL",
    value: "URL",
    about: "what URLs in answers begin with; default: the listening address",
    read: address,
  },
  domain: {
    flag: "domain",
    variable: "MILLRACE_DOMAIN",
    value: "NAME",
    about:
      "domain whose subdomains <endpoint id>.NAME lead to load-balancing endpoints, and <Pod id>-<port>.NAME to ports of Pods",
    read: domain,
  },
  podPorts: {
    flag: "pod-ports",
    variable: "MILLRACE_POD_PORTS",
    value: "MODE",
    default: "private",
    about:
      "who reaches HTTP ports of Pods: private (an API key of the account, or a link made with one); public (anybody)",
    read: oneOf(["private", "public"]),
  },
  corsOrigins: {
    flag: "cors-origins",
    variable: "MILLRACE_CORS_ORIGINS",
    value: "ORIGINS",
    about: "origins whose pages may call endpoints from a browser, comma separated, or '*'; none by default",
    read: parseOrigins,
  },
  workerUrl: {
    flag: "worker-url",
    variable: "MILLRACE_WORKER_URL",
    value: "URL",
    about: "where workers reach this server; default: the public URL",
    read: address,
  },
  nodeUrl: {
    flag: "node-url",
    variable: "MILLRACE_NODE_URL",
    value: "URL",
    about: "where other nodes on the same PostgreSQL reach this one; default: an address it listens on",
    read: origin,
  },
  dataCenter: {
    flag: "data-center",
    variable: "MILLRACE_DATA_CENTER",
    value: "ID",
    about: "data center of the catalog that this machine is in; default: it stands in every one of them",
    read: text,
  },
  volumes: {
    flag: "volumes",
    variable: "MILLRACE_VOLUMES",
    value: "DIR",
    about:
      "folder for network volumes that every machine of the installation has, such as a mount of NFS; without it a volume is on one machine, and what mounts it runs there",
    read: folder,
  },
  catalog: {
    flag: "catalog",
    variable: "MILLRACE_CATALOG",
    value: "FILE",
    about: "JSON file with prices, data centers and GPU types that differ from ours (docs/catalog.md)",
    read: folder,
  },
  compute: {
    flag: "compute",
    variable: "MILLRACE_COMPUTE",
    value: "KIND",
    default: "host",
    about: "where this server starts workers: host (this machine), or none (others start them, or people by hand)",
    read: oneOf(["host", "none"]),
  },
  gpus: {
    flag: "gpus",
    variable: "MILLRACE_GPUS",
    value: "MODE",
    default: "auto",
    about: "auto offers the machine's GPUs, or made-up ones on loopback where there are none; virtual; none",
    read: oneOf(["auto", "virtual", "none"]),
  },
  docker: {
    flag: "docker",
    variable: "MILLRACE_DOCKER",
    value: "SOCKET",
    default: "auto",
    about: "what runs container images: auto finds Docker or Podman; a socket such as /var/run/docker.sock; off",
    read: text,
  },
  sandbox: {
    flag: "sandbox",
    variable: "MILLRACE_SANDBOX",
    value: "MODE",
    default: "auto",
    about:
      "auto refuses programs and containers that cannot be kept apart, but for the owner's on loopback with one account; optional runs them",
    read: oneOf(["auto", "optional"]),
  },
  hostImages: {
    flag: "host-images",
    variable: "MILLRACE_HOST_IMAGES",
    value: "MODE",
    default: "auto",
    about: "whose `host` images run: auto means the owner's account, the first one; on means every account's; off",
    read: oneOf(["auto", "on", "off"]),
  },
  hostRoots: {
    flag: "host-roots",
    variable: "MILLRACE_HOST_ROOTS",
    value: "DIRS",
    about: "folders that those of `host` images must lie in, with colons between; any but the machine's own by default",
    read: folders,
  },
  hostReadable: {
    flag: "host-readable",
    variable: "MILLRACE_HOST_READABLE",
    value: "DIRS",
    about:
      "further folders that programs of `host` images see, read-only and at the same paths, with colons between, such as a Python in /opt/venv",
    read: folders,
  },
  hostApp: {
    flag: "host-app",
    variable: "MILLRACE_HOST_APP",
    value: "MODE",
    default: "read-only",
    about: "what programs may do with the folder of a `host` image: read-only or writable",
    read: oneOf(["read-only", "writable"]),
  },
  watchdogS: {
    flag: "watchdog-s",
    variable: "MILLRACE_WATCHDOG_S",
    value: "SECONDS",
    default: "60",
    about: "how long workers wait for a server that is gone before they end",
    read: whole(1, 86_400),
  },
  outputMb: {
    flag: "output-mb",
    variable: "MILLRACE_OUTPUT_MB",
    value: "P,M",
    default: "12,1024",
    about:
      "MB on the disk for what a `host` program wrote and the server has not read yet: of each, and of all together",
    read: outputSizes,
  },
  publishedPorts: {
    flag: "published-ports",
    variable: "MILLRACE_PUBLISHED_PORTS",
    value: "RANGE",
    default: "20000-29999",
    about:
      "ports of this machine at which published ports of programs and containers are reached, half of them for each",
    read: portRange,
  },
  sshPort: {
    flag: "ssh-port",
    variable: "MILLRACE_SSH_PORT",
    value: "P",
    default: "auto",
    about:
      "port at which Pods are reached by SSH: auto (7422, or any other where that is taken, and the same one from then on), a port, or off; where it cannot be had, the server starts without",
    read: portChoice,
  },
  sshAddress: {
    flag: "ssh-address",
    variable: "MILLRACE_SSH_ADDRESS",
    value: "HOST[:PORT]",
    about: "where clients reach that port, as Pods tell it; default: the host of the public URL, and the port itself",
    read: hostAndPort,
  },
  frozenS: {
    flag: "frozen-s",
    variable: "MILLRACE_FROZEN_S",
    value: "SECONDS",
    default: "3600",
    about: "how long an idle worker of an endpoint with FlashBoot stays frozen before it ends",
    read: whole(1, 864_000),
  },
  frozenMb: {
    flag: "frozen-mb",
    variable: "MILLRACE_FROZEN_MB",
    value: "MB",
    about:
      "memory that frozen workers of a machine may hold together, as measured; default: half of the machine's; 0 freezes none",
    read: whole(0, 100_000_000),
  },
  stream: {
    flag: "stream",
    variable: "MILLRACE_STREAM",
    value: "FORM",
    default: "auto",
    about:
      "what /stream answers when the request does not say: array, object, or auto: array for a bare key, object for Bearer",
    read: oneOf(["auto", "array", "object"]),
  },
  restV1: {
    flag: "rest-v1",
    variable: "MILLRACE_REST_V1",
    value: "SWITCH",
    default: "on",
    about:
      "on serves the deprecated REST v1 under /v1; off answers it with 410 and the path of REST v2 (docs/rest-v1.md)",
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
    about: "private ranges that webhooks and programs may reach: 10.1.0.0/16,192.168.1.5, or 'all'",
    read: parseRanges,
  },
  webhookSecret: {
    secret: true,
    variable: "MILLRACE_WEBHOOK_SECRET",
    value: "TEXT",
    about: "signs webhooks when set",
    read: text,
  },
  ...logSettings,
} satisfies Record<string, Setting>;
