/** The settings of logs and metrics, a part of the table of all settings. */
import { collector, folder, headers, listener, oneOf, share, syslog, whole } from "./setting-values.ts";

const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;

export const logSettings = {
  logFileMb: {
    flag: "log-file-mb",
    variable: "MILLRACE_LOG_FILE_MB",
    value: "MB",
    default: "10",
    about: "a worker's log file of this size is closed, and the next one begins",
    read: whole(1, 1024),
  },
  logFiles: {
    flag: "log-files",
    variable: "MILLRACE_LOG_FILES",
    value: "N",
    default: "5",
    about: "log files kept for each worker; the oldest is deleted first",
    read: whole(1, 1000),
  },
  logTotalMb: {
    flag: "log-total-mb",
    variable: "MILLRACE_LOG_TOTAL_MB",
    value: "MB",
    default: "4096",
    about: "size of all log files together; beyond it the endpoint with the most logs loses its oldest first",
    read: whole(1, 100_000_000),
  },
  logDays: {
    flag: "log-days",
    variable: "MILLRACE_LOG_DAYS",
    value: "DAYS",
    default: "7",
    about: "the log of an ended worker is kept this long",
    read: whole(1, 3650),
  },
  logReaders: {
    flag: "log-readers",
    variable: "MILLRACE_LOG_READERS",
    value: "N",
    default: "100",
    about: "logs of Pods and workers that an account may follow at once on this node; one more gets 429",
    read: whole(1, 10_000),
  },
  s3UploadDays: {
    flag: "s3-upload-days",
    variable: "MILLRACE_S3_UPLOAD_DAYS",
    value: "DAYS",
    default: "7",
    about: "parts of an S3 upload that nobody finishes are removed after this long without a new part",
    read: whole(1, 3650),
  },
  auditDays: {
    flag: "audit-days",
    variable: "MILLRACE_AUDIT_DAYS",
    value: "DAYS",
    default: "90",
    about: "the audit log of an account keeps changes this long, and at most 100,000 of them",
    read: whole(1, 3650),
  },
  auditFile: {
    flag: "audit-file",
    variable: "MILLRACE_AUDIT_FILE",
    value: "FILE",
    about: "file to which the audit log of all accounts is also written, a JSON object a line (docs/audit.md)",
    read: folder,
  },
  auditSyslog: {
    flag: "audit-syslog",
    variable: "MILLRACE_AUDIT_SYSLOG",
    value: "URL",
    about: "syslog server to which it is also sent, such as udp://10.0.0.9:514 or tcp://10.0.0.9:601",
    read: syslog,
  },
  logLevel: {
    flag: "log-level",
    variable: "MILLRACE_LOG_LEVEL",
    value: "LEVEL",
    default: "info",
    about:
      "level of the server's own log: debug, info, warn, error or silent; it can be changed while the server runs (docs/operating.md)",
    read: oneOf(LOG_LEVELS),
  },
  tracesUrl: {
    flag: "traces-url",
    variable: "MILLRACE_TRACES_URL",
    value: "URL",
    about:
      "collector of OpenTelemetry that gets traces by OTLP over HTTP, such as http://127.0.0.1:4318; default: none (docs/traces.md)",
    read: collector,
  },
  tracesHeaders: {
    secret: true as const,
    variable: "MILLRACE_TRACES_HEADERS",
    value: "HEADERS",
    about: "headers for the collector, such as authorization=Bearer abc, comma separated",
    read: headers,
  },
  traceShare: {
    flag: "trace-share",
    variable: "MILLRACE_TRACE_SHARE",
    value: "SHARE",
    default: "1",
    about: "share of requests without a traceparent whose traces are recorded, from 0 to 1",
    read: share,
  },
  metricsAddress: {
    flag: "metrics-address",
    variable: "MILLRACE_METRICS_ADDRESS",
    value: "ADDRESS:PORT",
    about:
      "address that serves /metrics without a key, such as 127.0.0.1:9464; default: only the main port does, with a key (docs/metrics.md)",
    read: listener,
  },
  metricsEndpoints: {
    flag: "metrics-endpoints",
    variable: "MILLRACE_METRICS_ENDPOINTS",
    value: "N",
    default: "0",
    about: "endpoints with the longest queues that get metrics of their own",
    read: whole(0, 100),
  },
};
