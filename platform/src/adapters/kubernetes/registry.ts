/** Asks image registries what a reference means now, by their public HTTP API. Nothing is pulled here: the nodes do that. */
import { createHash } from "node:crypto";
import type { Clock } from "../../kernel/clock.ts";
import { type RegistryCredential, StartRefused } from "../../ports/compute/compute.ts";
import { exactly, isReference, parseReference } from "../../ports/compute/image-reference.ts";
import { ImageDenied, type Lookup, RegistryAway } from "../../ports/compute/images.ts";

const MANIFESTS = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");
const LARGEST_MANIFEST = 4 * 1_048_576;
const ANSWER_MS = 20_000;

export class Registries {
  readonly #isPlain: (host: string) => boolean;
  readonly #clock: Clock;

  /** `isPlain` says which registries are asked without TLS. */
  constructor(isPlain: (host: string) => boolean, clock: Clock) {
    this.#isPlain = isPlain;
    this.#clock = clock;
  }

  async lookUp(image: string, { credential, signal }: Lookup): Promise<string> {
    if (!isReference(image))
      throw new StartRefused(`'${image.slice(0, 100)}' is no reference of an image`, { reason: "image-invalid" });
    const reference = parseReference(image);
    const [host, ...path] = reference.repository.split("/") as [string, ...string[]];
    const scheme = this.#isPlain(host) ? "http" : "https";
    const server = host === "docker.io" ? "registry-1.docker.io" : host;
    const url = `${scheme}://${server}/v2/${path.join("/")}/manifests/${reference.digest ?? reference.tag}`;
    const late = new AbortController();
    const timer = this.#clock.after(ANSWER_MS, () => late.abort());
    try {
      const response = await manifestAt(url, credential, AbortSignal.any([signal, late.signal]));
      if (!response.ok) throw verdictOf(image, response.status, await shortText(response));
      return exactly(reference, await digestOf(response));
    } catch (error) {
      if (error instanceof StartRefused || error instanceof RegistryAway) throw error;
      if (signal.aborted) throw new RegistryAway("no answer in time", { cause: error });
      const cause = (error as Error).cause as Error | undefined;
      throw new RegistryAway(`${host} does not answer: ${cause?.message ?? (error as Error).message}`, {
        cause: error,
      });
    } finally {
      timer.cancel();
    }
  }
}

/** Asks without a login first, as every client does: the answer says which kind of login there is. */
async function manifestAt(
  url: string,
  credential: RegistryCredential | undefined,
  signal: AbortSignal,
): Promise<Response> {
  const ask = (authorization?: string) =>
    fetch(url, { headers: { accept: MANIFESTS, ...(authorization && { authorization }) }, signal });
  const first = await ask();
  if (first.status !== 401) return first;
  const asked = first.headers.get("www-authenticate") ?? "";
  await first.body?.cancel();
  if (/^basic/i.test(asked))
    return credential ? ask(basic(credential)) : new Response("authentication required", { status: 401 });
  const token = await tokenFor(asked, credential, signal);
  return token === undefined ? new Response("authentication required", { status: 401 }) : ask(`Bearer ${token}`);
}

const basic = ({ username, password }: RegistryCredential) =>
  `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;

async function tokenFor(
  asked: string,
  credential: RegistryCredential | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const parts = Object.fromEntries([...asked.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name!, value!]));
  const realm = URL.parse(parts.realm ?? "");
  if (!realm || !/^https?:$/.test(realm.protocol)) return undefined;
  for (const name of ["service", "scope"]) if (parts[name] !== undefined) realm.searchParams.set(name, parts[name]);
  const response = await fetch(realm, { headers: credential ? { authorization: basic(credential) } : {}, signal });
  const text = await shortText(response);
  if (response.status === 401 || response.status === 403) return undefined;
  if (!response.ok) throw new RegistryAway(`${realm.host} gives no token: status ${response.status}`);
  const { token, access_token } = JSON.parse(text) as { token?: string; access_token?: string };
  return token ?? access_token;
}

async function shortText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > LARGEST_MANIFEST) throw new RegistryAway("its answer is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** A digest is the hash of exactly these bytes. */
async function digestOf(response: Response): Promise<string> {
  const told = response.headers.get("docker-content-digest");
  const text = await shortText(response);
  return told ?? `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

function verdictOf(image: string, status: number, words: string): Error {
  const said = `cannot pull ${image}: ${words.slice(0, 300).trim() || `status ${status}`}`;
  if (status === 401 || status === 403) return new ImageDenied(`cannot pull ${image}: the registry says ${status}`);
  if (status === 404 || status === 400) return new StartRefused(said, { reason: "image-not-found" });
  return new RegistryAway(said);
}
