/** The certificate of the TLS listener: read from its files, and read again when they change. */
import { X509Certificate } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import { type Duty, every } from "../kernel/background.ts";
import { type Clock, timestamp } from "../kernel/clock.ts";
import type { Failed } from "../kernel/failed.ts";
import type { Log } from "../kernel/log.ts";
import type { Settings } from "../settings/settings.ts";
import type { Certificate } from "../surfaces/http/secure-server.ts";

const LOOK_MS = 10_000;

export interface CertificateParts {
  clock: Clock;
  log: Log;
  failed: Failed;
}

type Files = { cert: string; key: string };

/** The files that the settings name, or undefined if there are none. */
export function certificateFiles({ tlsCert, tlsKey }: Settings): Files | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined)
    throw new Error(
      "--tls-cert (MILLRACE_TLS_CERT) and --tls-key (MILLRACE_TLS_KEY) belong together: set both, or none",
    );
  return { cert: tlsCert, key: tlsKey };
}

/**
 * A file may be replaced, or be a link to another one, as programs that renew certificates do it. Between the two files a pair may not fit:
 * then the one that was read before stays, and the duty says why.
 */
export class Certificates {
  readonly #files: Files;
  readonly #parts: CertificateParts;
  current: Certificate;
  #seen: string;

  private constructor(
    files: Files,
    parts: CertificateParts,
    { current, seen }: { current: Certificate; seen: string },
  ) {
    this.#files = files;
    this.#parts = parts;
    this.current = current;
    this.#seen = seen;
  }

  static async open(files: Files, parts: CertificateParts): Promise<Certificates> {
    const seen = await stampOf(files);
    return new Certificates(files, parts, { current: await read(files), seen });
  }

  /** Calls `present` with each new certificate until it is disposed of. */
  follow(present: (certificate: Certificate) => void): Duty {
    const { clock, failed } = this.#parts;
    return every(clock, { name: "read the TLS certificate again", everyMs: LOOK_MS }, () => this.look(present), failed);
  }

  async look(present: (certificate: Certificate) => void): Promise<void> {
    const seen = await stampOf(this.#files);
    if (seen !== this.#seen) {
      this.current = await read(this.#files);
      this.#seen = seen;
      present(this.current);
      this.#parts.log.info({ until: timestamp(endOf(this.current)) }, "a new TLS certificate is in use");
    }
    const end = endOf(this.current);
    if (this.#parts.clock.now() > end)
      throw new Error(`the TLS certificate ended at ${timestamp(end)}: clients refuse it. Renew ${this.#files.cert}`);
  }
}

const endOf = ({ cert }: Certificate) => new X509Certificate(cert).validToDate.getTime();

/** Changes with every write and every replacement of a file. */
async function stampOf({ cert, key }: Files): Promise<string> {
  const found = await Promise.all([cert, key].map((file) => orUnreadable(file, () => stat(file, { bigint: true }))));
  return found.map(({ ino, mtimeNs, size }) => `${ino} ${mtimeNs} ${size}`).join(" ");
}

async function read(files: Files): Promise<Certificate> {
  const [cert, key] = await Promise.all(
    [files.cert, files.key].map((file) => orUnreadable(file, () => readFile(file, "utf8"))),
  );
  const certificate = { cert: cert!, key: key! };
  try {
    createSecureContext(certificate);
  } catch (cause) {
    const { message, code = "" } = cause as NodeJS.ErrnoException;
    const why = (isLocked(certificate.key) ? LOCKED : TROUBLE[code]) ?? message;
    throw new Error(`${files.cert} and ${files.key} cannot be used for TLS: ${why}`, { cause });
  }
  return certificate;
}

const TROUBLE: Record<string, string> = {
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: "the key belongs to another certificate",
};
const LOCKED = "the key has a passphrase: write it without one, as 'openssl pkey -in KEY -out NEW' does";
/** Both forms of PEM in which a key has a passphrase. */
const isLocked = (key: string) => /^-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(key);

async function orUnreadable<T>(file: string, reading: () => Promise<T>): Promise<T> {
  return reading().catch((cause: NodeJS.ErrnoException) => {
    throw new Error(`${file}, named for TLS, cannot be read (${cause.code})`, { cause });
  });
}
