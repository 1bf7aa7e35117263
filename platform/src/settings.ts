/** Every setting of the server, as data: its flag, its variable, its default and what it does. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { foldersIn, integerIn, oneOf, originIn, outputIn, rangeIn } from "./setting-values.ts";

interface Setting {
  flag: string;
  variable: string;
  /** What the value stands for in the help. */
  value: string;
  default?: string;
  about: string;
}

export const settingTable = {
  port: { flag: "port", variable: "MILLRACE_PORT", value: "P", default: "7420", about: "port to listen on" },
  host: {
    flag: "host",
    variable: "MILLRACE_HOST",
    value: "ADDRESS",
    default: "127.0.0.1",
    about: "address to listen on",
  },
  data: {
    flag: "data",
    variable: "MILLRACE_DATA",
    value: "DIR",
    default: join(homedir(), ".millrace"),
    about: "folder that holds everything",
  },
  databaseUrl: {
    flag: "",
    variable: "MILLRACE_DATABASE_URL",
    value: "URL",
    about: "postgres://… keeps store and queue there instead of in the data folder",
  },
  databaseTimeoutS: {
    flag: "database-timeout-s",
    variable: "MILLRACE_DATABASE_TIMEOUT_S",
    value: "SECONDS",
    default: "10",
    about: "how long PostgreSQL may take for one statement before what needs it is answered with 503",
  },
  databaseUrlFile: {
    flag: "database-url-file",
    variable: "MILLRACE_DATABASE_URL_FILE",
    value: "FILE",
    about: "file that holds the same URL, for whoever keeps passwords out of variables too",
  },
  apiKey: {
    flag: "",
    variable: "MILLRACE_API_KEY",
    value: "KEY",
    about: "the owner's key; without it one is made at the first start",
  },
  masterKey: {
    flag: "",
    variable: "MILLRACE_MASTER_KEY",
    value: "BASE64",
    about: "master key for secrets, newest first, comma separated",
  },
  masterKeyCommand: {
    flag: "",
    variable: "MILLRACE_MASTER_KEY_COMMAND",
    value: "COMMAND",
    about: "command that prints the master key",
  },
  rateLimits: {
    flag: "rate-limits",
    variable: "MILLRACE_RATE_LIMITS",
    value: "M,H,D",
    default: "600,18000,200000",
    about: "requests per user a minute, an hour and a day, or 'off'",
  },
  quotas: {
    flag: "quotas",
    variable: "MILLRACE_QUOTAS",
    value: "QUOTAS",
    about:
      "what an account may have, such as workers=50,endpoints=20; by default 16 workers for each processor, 32 at least, and 1000 endpoints, keys and secrets",
  },
  invokeLimits: {
    flag: "invoke-limits",
    variable: "MILLRACE_INVOKE_LIMITS",
    value: "LIMITS",
    default: "off",
    about:
      "limits of /run and the other calls of an endpoint per user: off, on, or what differs from on, such as run=1000/200",
  },
  payloadLimits: {
    flag: "payload-limits",
    variable: "MILLRACE_PAYLOAD_LIMITS",
    value: "R,S,O,L",
    default: "10,20,20,256",
    about:
      "MB allowed in a /run body, a /runsync body, a result, and a result that is kept apart behind a URL; 0 keeps none apart",
  },
  connections: {
    flag: "connections",
    variable: "MILLRACE_CONNECTIONS",
    value: "N",
    about:
      "connections of clients and workers at once, of which an account may hold as many as are free; default: by the machine's limit on open files, at most 10000",
  },
  bodiesMb: {
    flag: "bodies-mb",
    variable: "MILLRACE_BODIES_MB",
    value: "MB",
    about:
      "memory for bodies and results on their way, of which an account may hold as much as is free; default: an eighth of the machine's, 256 to 2048",
  },
  publicUrl: {
    flag: "public-url",
    variable: "MILLRACE_PUBLIC_URL",
    value: "URL",
    about: "what URLs in answers begin with; default: the listening address",
  },
  domain: {
    flag: "domain",
    variable: "MILLRACE_DOMAIN",
    value: "NAME",
    about: "domain whose subdomains <endpoint id>.NAME lead to load-balancing endpoints",
  },
  corsOrigins: {
    flag: "cors-origins",
    variable: "MILLRACE_CORS_ORIGINS",
    value: "ORIGINS",
    about: "origins whose pages may call endpoints from a browser, comma separated, or '*'; none by default",
  },
  workerUrl: {
    flag: "worker-url",
    variable: "MILLRACE_WORKER_URL",
    value: "URL",
    about: "where workers reach this server; default: the public URL",
  },
  nodeUrl: {
    flag: "node-url",
    variable: "MILLRACE_NODE_URL",
    value: "URL",
    about: "where other nodes on the same PostgreSQL reach this one; default: an address it listens on",
  },
  dataCenter: {
    flag: "data-center",
    variable: "MILLRACE_DATA_CENTER",
    value: "ID",
    default: "US-KS-2",
    about: "data center of the catalog that this server's workers are in",
  },
  compute: {
    flag: "compute",
    variable: "MILLRACE_COMPUTE",
    value: "KIND",
    default: "host",
    about: "where this server starts workers: host (this machine), or none (others start them, or people by hand)",
  },
  gpus: {
    flag: "gpus",
    variable: "MILLRACE_GPUS",
    value: "MODE",
    default: "auto",
    about: "auto offers the machine's GPUs, or made-up ones on loopback where there are none; virtual; none",
  },
  docker: {
    flag: "docker",
    variable: "MILLRACE_DOCKER",
    value: "SOCKET",
    default: "auto",
    about: "what runs container images: auto finds Docker or Podman; a socket such as /var/run/docker.sock; off",
  },
  sandbox: {
    flag: "sandbox",
    variable: "MILLRACE_SANDBOX",
    value: "MODE",
    default: "auto",
    about:
      "auto runs `host` programs without a sandbox only on loopback with one account; 'optional' wherever bubblewrap is missing",
  },
  hostImages: {
    flag: "host-images",
    variable: "MILLRACE_HOST_IMAGES",
    value: "MODE",
    default: "auto",
    about: "whose `host` images run: auto means the owner's account, the first one; on means every account's; off",
  },
  hostRoots: {
    flag: "host-roots",
    variable: "MILLRACE_HOST_ROOTS",
    value: "DIRS",
    about: "folders that those of `host` images must lie in, with colons between; any but the machine's own by default",
  },
  hostApp: {
    flag: "host-app",
    variable: "MILLRACE_HOST_APP",
    value: "MODE",
    default: "read-only",
    about: "what programs may do with the folder of a `host` image: read-only or writable",
  },
  watchdogS: {
    flag: "watchdog-s",
    variable: "MILLRACE_WATCHDOG_S",
    value: "SECONDS",
    default: "60",
    about: "how long workers wait for a server that is gone before they end",
  },
  outputMb: {
    flag: "output-mb",
    variable: "MILLRACE_OUTPUT_MB",
    value: "P,M",
    default: "12,1024",
    about:
      "MB on the disk for what a `host` program wrote and the server has not read yet: of each, and of all together",
  },
  publishedPorts: {
    flag: "published-ports",
    variable: "MILLRACE_PUBLISHED_PORTS",
    value: "RANGE",
    default: "20000-29999",
    about:
      "ports of this machine at which published ports of programs and containers are reached, half of them for each",
  },
  frozenS: {
    flag: "frozen-s",
    variable: "MILLRACE_FROZEN_S",
    value: "SECONDS",
    default: "3600",
    about: "how long an idle worker of an endpoint with FlashBoot stays frozen before it ends",
  },
  frozenMb: {
    flag: "frozen-mb",
    variable: "MILLRACE_FROZEN_MB",
    value: "MB",
    about: "memory that frozen workers may have together; default: half of the machine's; 0 freezes none",
  },
  stream: {
    flag: "stream",
    variable: "MILLRACE_STREAM",
    value: "FORM",
    default: "auto",
    about:
      "what /stream answers when the request does not say: array, object, or auto: array for a bare key, object for Bearer",
  },
  webhookPrivate: {
    flag: "webhook-private",
    variable: "MILLRACE_WEBHOOK_PRIVATE",
    value: "allow",
    about: "'allow' lets webhooks reach private addresses",
  },
  reachable: {
    flag: "reachable",
    variable: "MILLRACE_REACHABLE",
    value: "RANGES",
    about: "private ranges that webhooks and programs may reach: 10.1.0.0/16,192.168.1.5, or 'all'",
  },
  webhookSecret: { flag: "", variable: "MILLRACE_WEBHOOK_SECRET", value: "TEXT", about: "signs webhooks when set" },
  logFileMb: {
    flag: "log-file-mb",
    variable: "MILLRACE_LOG_FILE_MB",
    value: "MB",
    default: "10",
    about: "size at which a log file of a worker is closed and the next one begun",
  },
  logFiles: {
    flag: "log-files",
    variable: "MILLRACE_LOG_FILES",
    value: "N",
    default: "5",
    about: "log files kept for each worker; beyond it the oldest goes",
  },
  logTotalMb: {
    flag: "log-total-mb",
    variable: "MILLRACE_LOG_TOTAL_MB",
    value: "MB",
    default: "4096",
    about: "size of all log files together; beyond it the oldest go, of the endpoint first that has most",
  },
  logDays: {
    flag: "log-days",
    variable: "MILLRACE_LOG_DAYS",
    value: "DAYS",
    default: "7",
    about: "how long the log of a worker that has ended is kept",
  },
  logLevel: {
    flag: "log-level",
    variable: "MILLRACE_LOG_LEVEL",
    value: "LEVEL",
    default: "info",
    about: "debug, info, warn, error or silent",
  },
} as const satisfies Record<string, Setting>;

/** Variables for a program that this process starts: whatever it needs, but none of the secrets of this one. */
export function withoutSecrets(env: Record<string, string | undefined>): Record<string, string | undefined> {
  const secret: Set<string> = new Set(SECRET.map((name) => settingTable[name].variable));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !secret.has(name)));
}

const SECRET = ["databaseUrl", "apiKey", "masterKey", "masterKeyCommand", "webhookSecret"] as const;

/** Flags win over variables, variables over defaults. An empty variable counts as absent. */
export function settingsFrom(env: Record<string, string | undefined>, flags: Record<string, string | undefined> = {}) {
  const read = (name: keyof typeof settingTable) => {
    const setting: Setting = settingTable[name];
    return flags[name] ?? (env[setting.variable] || undefined) ?? setting.default;
  };
  const number = (name: keyof typeof settingTable, least: number, most: number) =>
    integerIn(settingTable[name].variable, read(name)!, least, most);
  return {
    port: number("port", 0, 65_535),
    host: read("host")!,
    data: resolve(read("data")!),
    databaseTimeoutS: number("databaseTimeoutS", 1, 3600),
    databaseUrl: env[settingTable.databaseUrl.variable] || undefined,
    databaseUrlFile: read("databaseUrlFile"),
    apiKey: read("apiKey"),
    masterKey: read("masterKey"),
    masterKeyCommand: read("masterKeyCommand"),
    rateLimits: read("rateLimits")!,
    quotas: read("quotas") ?? "",
    invokeLimits: read("invokeLimits")!,
    payloadLimits: read("payloadLimits")!,
    connections: read("connections") === undefined ? undefined : number("connections", 10, 1_000_000),
    bodiesMb: read("bodiesMb") === undefined ? undefined : number("bodiesMb", 1, 1_000_000),
    publicUrl: read("publicUrl"),
    domain: read("domain")
      ?.toLowerCase()
      .replace(/^\*?\.|\.$/g, ""),
    corsOrigins: read("corsOrigins"),
    workerUrl: read("workerUrl"),
    nodeUrl: originIn("MILLRACE_NODE_URL", read("nodeUrl")),
    dataCenter: read("dataCenter")!,
    compute: oneOf("MILLRACE_COMPUTE", read("compute")!, ["host", "none"]),
    gpus: oneOf("MILLRACE_GPUS", read("gpus")!, ["auto", "virtual", "none"]),
    docker: read("docker")!,
    sandbox: oneOf("MILLRACE_SANDBOX", read("sandbox")!, ["auto", "optional"]),
    hostImages: oneOf("MILLRACE_HOST_IMAGES", read("hostImages")!, ["auto", "on", "off"]),
    hostRoots: foldersIn("MILLRACE_HOST_ROOTS", read("hostRoots")),
    hostApp: oneOf("MILLRACE_HOST_APP", read("hostApp")!, ["read-only", "writable"]),
    watchdogS: integerIn("MILLRACE_WATCHDOG_S", read("watchdogS")!, 1, 86_400),
    outputMb: outputIn(read("outputMb")!),
    publishedPorts: rangeIn("MILLRACE_PUBLISHED_PORTS", read("publishedPorts")!),
    frozenS: number("frozenS", 1, 864_000),
    frozenMb: read("frozenMb") === undefined ? undefined : number("frozenMb", 0, 100_000_000),
    stream: oneOf("MILLRACE_STREAM", read("stream")!, ["auto", "array", "object"]),
    webhookPrivate: read("webhookPrivate"),
    reachable: read("reachable"),
    webhookSecret: read("webhookSecret"),
    logFileMb: number("logFileMb", 1, 1024),
    logFiles: number("logFiles", 1, 1000),
    logTotalMb: number("logTotalMb", 1, 100_000_000),
    logDays: number("logDays", 1, 3650),
    logLevel: read("logLevel")!,
  };
}

export type Settings = ReturnType<typeof settingsFrom>;
