/** Headers that every file of the console carries: what it may load, who may frame it, and what it reveals to others. */

/** Pages of other origins can neither frame the console nor load its files. */
const ALWAYS = {
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  // The console's URLs may contain what only its owner should know, such as a one-time link.
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy":
    "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), publickey-credentials-get=(), usb=()",
};

/** A host name or an IPv4 address. A policy cannot express an IPv6 address, for which `'self'` is enough in today's browsers. */
const HOST = /^[\w.-]+(:\d{1,5})?$/;

export function consoleHeaders(host: string | undefined): Record<string, string> {
  return { ...ALWAYS, "Content-Security-Policy": policyFor(host) };
}

/** Allows scripts and styles only from our own files, and nothing from any other host. */
function policyFor(host = ""): string {
  // Some browsers do not count WebSockets to the same host as `'self'`.
  const sockets = HOST.test(host) ? ` ws://${host} wss://${host}` : "";
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    `connect-src 'self'${sockets}`,
    "manifest-src 'self'",
    "worker-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join("; ");
}
