/** The settings of the listeners: where the server is reached, by TLS or behind proxies. */
import { parseRanges } from "../kernel/addresses.ts";
import { folder, text, whole } from "./setting-values.ts";

export const listenerSettings = {
  tlsCert: {
    flag: "tls-cert",
    variable: "MILLRACE_TLS_CERT",
    value: "FILE",
    about: "certificate chain in PEM form: opens a second listener that speaks TLS; read again when the file changes",
    read: folder,
  },
  tlsKey: {
    flag: "tls-key",
    variable: "MILLRACE_TLS_KEY",
    value: "FILE",
    about: "key of that certificate in PEM form",
    read: folder,
  },
  tlsPort: {
    flag: "tls-port",
    variable: "MILLRACE_TLS_PORT",
    value: "P",
    default: "7443",
    about: "port of the TLS listener",
    read: whole(0, 65_535),
  },
  tlsHost: {
    flag: "tls-host",
    variable: "MILLRACE_TLS_HOST",
    value: "ADDRESS",
    default: "0.0.0.0",
    about: "address of the TLS listener",
    read: text,
  },
  proxies: {
    flag: "proxies",
    variable: "MILLRACE_PROXIES",
    value: "RANGES",
    default: "127.0.0.0/8,::1",
    about:
      "proxies and load balancers whose X-Forwarded-For, -Proto and -Host are believed, such as 10.0.0.0/24; those of others are ignored",
    read: parseRanges,
  },
  leaveS: {
    flag: "leave-s",
    variable: "MILLRACE_LEAVE_S",
    value: "SECONDS",
    default: "3",
    about:
      "one of several servers that was asked to end still answers new requests for this long after /readyz says 503, so that load balancers notice",
    read: whole(0, 3_600),
  },
};
