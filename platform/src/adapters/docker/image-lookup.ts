/** What the engine, and through it a registry, reports about an image. */
import { type RegistryCredential, StartRefused } from "../../ports/compute/compute.ts";
import { exactly, isReference, isSame, parseReference } from "../../ports/compute/image-reference.ts";
import { ImageDenied, type ImageOrigin, type Lookup, RegistryAway } from "../../ports/compute/images.ts";
import type { FoundEngine } from "./engine.ts";
import { type EngineApi, EngineRefused, isNotFound, linesIn } from "./engine-api.ts";

/** The fields of an image that the driver reads. */
interface FoundImage {
  RepoTags: string[] | null;
  RepoDigests: string[] | null;
}

export async function findImage(api: EngineApi, image: string): Promise<FoundImage | undefined> {
  checkReference(image);
  try {
    return await api.call<FoundImage>("GET", `/images/${image}/json`);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    // The image name is malformed; the engine's message says how.
    if (error instanceof EngineRefused)
      throw new StartRefused(error.message, { cause: error, reason: "engine-refused" });
    throw error;
  }
}

function checkReference(image: string): void {
  if (!isReference(image))
    throw new StartRefused(`'${image.slice(0, 100)}' is no reference of an image`, { reason: "image-invalid" });
}

/**
 * A name that the engine knows was given by the operator, since this driver pulls by digest, which adds no name. The comparison excludes
 * ids, because the engine also finds an image by the beginning of its id. On Podman a lookup pulls by name, so there only images at
 * `localhost`, loaded or built by the operator, count.
 */
export async function originOf({ api, podman }: FoundEngine, image: string): Promise<ImageOrigin> {
  const found = await findImage(api, image);
  const isNamed = found?.RepoTags?.some((name) => isSame(name, image)) ?? false;
  const isPulled = podman && !parseReference(image).repository.startsWith("localhost/");
  return isNamed && !isPulled ? "operator" : "registry";
}

/**
 * Asks the registry through the engine, with the engine's certificates, mirrors and proxies. The engine reads the manifest and pulls
 * nothing.
 */
export async function lookUp({ api, podman }: FoundEngine, image: string, lookup: Lookup): Promise<string> {
  checkReference(image);
  const reference = parseReference(image);
  try {
    if (podman) return exactly(reference, await digestByPull(api, image, lookup));
    const { credential, signal } = lookup;
    const { Descriptor } = await api.call<{ Descriptor: { digest: string } }>(
      "GET",
      `/distribution/${withTag(image)}/json`,
      { headers: authHeaders(image, credential), signal },
    );
    return exactly(reference, Descriptor.digest);
  } catch (error) {
    if (lookup.signal.aborted) throw new RegistryAway("no answer in time", { cause: error });
    if (error instanceof EngineRefused) throw verdictIn(image, lookup.credential, error);
    throw error;
  }
}

/**
 * Podman cannot ask a registry without a pull. Pulling a tag asks the registry each time; pulling a digest that is already there does not,
 * and so proves nothing.
 */
async function digestByPull(api: EngineApi, image: string, { credential, signal }: Lookup): Promise<string> {
  const { digest, repository } = parseReference(image);
  if (digest !== undefined)
    throw new StartRefused(`with Podman nobody can show that he may pull ${image}: name it by a tag`, {
      reason: "image-denied",
    });
  const query = { fromImage: withTag(image) };
  const reports = await api.stream("POST", "/images/create", {
    query,
    headers: authHeaders(image, credential),
    signal,
  });
  for await (const line of linesIn(reports)) {
    const { error } = JSON.parse(line) as { error?: string };
    if (error !== undefined) throw new EngineRefused(500, error);
  }
  const digests = (await findImage(api, withTag(image)))?.RepoDigests?.map(parseReference) ?? [];
  const found = digests.find((one) => one.repository === repository)?.digest;
  if (found === undefined) throw new RegistryAway("the pull was broken off");
  return found;
}

/** Registries and engines refuse with few status codes and many wordings. */
const DENIED =
  /unauthorized|(?<!permission )denied|forbidden|authentication required|no basic auth|insufficient.scope/i;
const MISSING = /manifest unknown|not found|name unknown/i;

function verdictIn(image: string, credential: RegistryCredential | undefined, { status, message }: EngineRefused) {
  const words = without(credential, message);
  if (status === 401 || status === 403 || DENIED.test(words)) return new ImageDenied(`cannot pull ${image}: ${words}`);
  if (status === 404 || status === 400 || MISSING.test(words))
    return new StartRefused(`cannot pull ${image}: ${words}`, { reason: "image-not-found" });
  return new RegistryAway(words);
}

/** Adds the tag, since an engine would pull all tags without one. */
const withTag = (image: string) => {
  const { name, tag, digest } = parseReference(image);
  return digest === undefined ? `${name}:${tag}` : `${name}@${digest}`;
};

/** Sends the credential in a header, which appears in no process list and in no log of the engine. */
export function authHeaders(image: string, credential: RegistryCredential | undefined): Record<string, string> {
  if (!credential) return {};
  const { username, password } = credential;
  const auth = { username, password, serveraddress: registryOf(image) };
  // Docker expects the URL-safe alphabet with padding. Node's base64url omits the padding, and Docker then ignores the credential.
  const text = Buffer.from(JSON.stringify(auth)).toString("base64").replaceAll("+", "-").replaceAll("/", "_");
  return { "x-registry-auth": text };
}

/** The name under which engines store a registry's credentials. Docker Hub has an older form. */
export function registryOf(image: string): string {
  const registry = parseReference(image).repository.split("/")[0]!;
  return registry === "docker.io" ? "https://index.docker.io/v1/" : registry;
}

/** Removes the password from a message. A registry's message might contain it, also in the encoding of the request header. */
export function without(credential: RegistryCredential | undefined, text: string): string {
  if (!credential?.password) return text;
  const { username, password } = credential;
  const sent = Buffer.from(`${username}:${password}`).toString("base64");
  return text.replaceAll(sent, "…").replaceAll(password, "…");
}
