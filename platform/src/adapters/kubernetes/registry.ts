/** Asks image registries what a reference means now, by their public HTTP API. Nothing is pulled here: the nodes do that. */
import { createHash } from "node:crypto";
import { type Range, within } from "../../kernel/addresses.ts";
import type { Clock } from "../../kernel/clock.ts";
import { type RegistryCredential, StartRefused } from "../../ports/compute/compute.ts";
import { exactly, isReference, parseReference } from "../../ports/compute/image-reference.ts";
import { ImageDenied, type Lookup, RegistryAway } from "../../ports/compute/images.ts";
import { isPrivate } from "../machine/checked-lookup.ts";
import { type Answer, NotReached, registryGet } from "./registry-get.ts";

const MANIFESTS = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");
const ANSWER_MS = 20_000;

export interface RegistriesParts {
  /** Registries that are asked without TLS, wherever they are. */
  plain: readonly string[];
  /** Registries that may be at private addresses. */
  trusted: readonly string[];
  /** Private addresses at which any registry may be. */
  reachable: readonly Range[];
  clock: Clock;
}

export class Registries {
  readonly #parts: RegistriesParts;
  readonly #mayReach: (address: string) => boolean;

  constructor(parts: RegistriesParts) {
    this.#parts = parts;
    const isAllowed = within(parts.reachable);
    this.#mayReach = (address) => isAllowed(address) || !isPrivate(address);
  }

  /** The name of an image is a stranger's, so it must not lead the server into its own network. */
  #get: Get = (url, headers, signal) =>
    registryGet(url, { headers, signal, limit: (at) => (this.#isTrusted(at) ? undefined : this.#mayReach) });

  #isTrusted({ host, hostname }: URL): boolean {
    const { plain, trusted } = this.#parts;
    return plain.includes(host) || trusted.includes(host) || trusted.includes(hostname);
  }

  async lookUp(image: string, { credential, signal }: Lookup): Promise<string> {
    if (!isReference(image))
      throw new StartRefused(`'${image.slice(0, 100)}' is no reference of an image`, { reason: "image-invalid" });
    const reference = parseReference(image);
    const [host, ...path] = reference.repository.split("/") as [string, ...string[]];
    const scheme = this.#parts.plain.includes(host) ? "http" : "https";
    const server = host === "docker.io" ? "registry-1.docker.io" : host;
    const url = URL.parse(`${scheme}://${server}/v2/${path.join("/")}/manifests/${reference.digest ?? reference.tag}`);
    if (!url) throw new StartRefused(`'${host}' is no name of a registry`, { reason: "image-invalid" });
    const late = new AbortController();
    const timer = this.#parts.clock.after(ANSWER_MS, () => late.abort());
    try {
      const answer = await manifestAt(this.#get, url, credential, AbortSignal.any([signal, late.signal]));
      if (answer.status !== 200) throw verdictOf(image, answer);
      return exactly(reference, digestOf(answer));
    } catch (error) {
      if (error instanceof StartRefused || error instanceof RegistryAway) throw error;
      if (error instanceof NotReached) throw new ImageDenied(`cannot pull ${image}: ${error.message}`);
      if (signal.aborted) throw new RegistryAway("no answer in time", { cause: error });
      throw new RegistryAway(`${host} does not answer: ${(error as Error).message}`, { cause: error });
    } finally {
      timer.cancel();
    }
  }
}

type Get = (url: URL, headers: Record<string, string>, signal: AbortSignal) => Promise<Answer>;

/** Asks without a login first, as every client does: the answer says which kind of login there is. */
async function manifestAt(
  get: Get,
  url: URL,
  credential: RegistryCredential | undefined,
  signal: AbortSignal,
): Promise<Answer> {
  const ask = (authorization?: string) =>
    get(url, { accept: MANIFESTS, ...(authorization && { authorization }) }, signal);
  const first = await ask();
  if (first.status !== 401) return first;
  const asked = first.header("www-authenticate") ?? "";
  if (/^basic/i.test(asked)) return credential ? ask(basic(credential)) : first;
  const token = await tokenFor(get, asked, credential, signal);
  return token === undefined ? first : ask(`Bearer ${token}`);
}

const basic = ({ username, password }: RegistryCredential) =>
  `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;

async function tokenFor(
  get: Get,
  asked: string,
  credential: RegistryCredential | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const parts = Object.fromEntries([...asked.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name!, value!]));
  const realm = URL.parse(parts.realm ?? "");
  if (!realm || !/^https?:$/.test(realm.protocol)) return undefined;
  for (const name of ["service", "scope"]) if (parts[name] !== undefined) realm.searchParams.set(name, parts[name]);
  const { status, text } = await get(realm, credential ? { authorization: basic(credential) } : {}, signal);
  if (status === 401 || status === 403) return undefined;
  if (status !== 200) throw new RegistryAway(`${realm.host} gives no token: status ${status}`);
  const { token, access_token } = (parsed(text) ?? {}) as { token?: unknown; access_token?: unknown };
  const found = token ?? access_token;
  if (typeof found !== "string" || !/^[\x21-\x7e]+$/.test(found))
    throw new RegistryAway(`${realm.host} gives no token`);
  return found;
}

/** Undefined where it is no JSON. An error of the parser would repeat a part of the text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A digest is the hash of exactly these bytes. */
function digestOf({ header, text }: Answer): string {
  const told = header("docker-content-digest");
  return told !== undefined && /^[a-z0-9]+:[a-f0-9]{32,}$/.test(told)
    ? told
    : `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

/** What a registry says in the form that registries use. Anything else may come from something that is no registry. */
function wordsIn(text: string): string | undefined {
  const { errors } = (parsed(text) ?? {}) as { errors?: { message?: unknown }[] };
  const message = Array.isArray(errors) ? errors[0]?.message : undefined;
  return typeof message === "string" ? message.slice(0, 300) : undefined;
}

function verdictOf(image: string, { status, text }: Answer): Error {
  if (status === 401 || status === 403) return new ImageDenied(`cannot pull ${image}: the registry says ${status}`);
  const said = `cannot pull ${image}: ${wordsIn(text) ?? `the registry says ${status}`}`;
  if (status === 404 || status === 400) return new StartRefused(said, { reason: "image-not-found" });
  return new RegistryAway(said);
}
