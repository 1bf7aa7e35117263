/** What the engine and, through it, a registry say of an image. */
import { type RegistryCredential, StartRefused } from "../../ports/compute/compute.ts";
import { exactly, isReference, isSame, parseReference } from "../../ports/compute/image-reference.ts";
import { ImageDenied, type ImageOrigin, type Lookup, RegistryAway } from "../../ports/compute/images.ts";
import type { FoundEngine } from "./engine.ts";
import { type EngineApi, EngineRefused, isNotFound, linesIn } from "./engine-api.ts";

/** What the driver reads of an image. */
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
    // An image name that cannot be one; the engine says what is wrong with it.
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
 * A name of the engine's is the operator's: this driver pulls by digests, which gives none. The engine also finds images by the beginning of
 * their id, which is nobody's name. Podman's proof is a pull that does give a name; there only what was loaded or built is at `localhost`.
 */
export async function originOf({ api, podman }: FoundEngine, image: string): Promise<ImageOrigin> {
  const found = await findImage(api, image);
  const isNamed = found?.RepoTags?.some((name) => isSame(name, image)) ?? false;
  const isPulled = podman && !parseReference(image).repository.startsWith("localhost/");
  return isNamed && !isPulled ? "operator" : "registry";
}

/** By the engine's own question, with its certificates, mirrors and proxies: it reads the manifest, and nothing is pulled. */
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

/** Podman has no such question. To pull a tag asks the registry each time; to pull a digest that is there does not, and proves nothing. */
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

/** Registries, and the engine before it asks one, say no with few statuses and many words. */
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

/** Without a tag an engine would take all of them. */
const withTag = (image: string) => {
  const { name, tag, digest } = parseReference(image);
  return digest === undefined ? `${name}:${tag}` : `${name}@${digest}`;
};

/** In a header, which is in no process list and no log of the engine's. */
export function authHeaders(image: string, credential: RegistryCredential | undefined): Record<string, string> {
  if (!credential) return {};
  const { username, password } = credential;
  const auth = { username, password, serveraddress: registryOf(image) };
  // The alphabet for URLs, yet with the padding that Node leaves out there: without it Docker reads no credential at all.
  const text = Buffer.from(JSON.stringify(auth)).toString("base64").replaceAll("+", "-").replaceAll("/", "_");
  return { "x-registry-auth": text };
}

/** By the name under which engines keep credentials: that of Docker Hub is older than the others. */
export function registryOf(image: string): string {
  const registry = parseReference(image).repository.split("/")[0]!;
  return registry === "docker.io" ? "https://index.docker.io/v1/" : registry;
}

/** The engine repeats no password that we know of; a registry's own words might, also as they came in its header. */
export function without(credential: RegistryCredential | undefined, text: string): string {
  if (!credential?.password) return text;
  const { username, password } = credential;
  const sent = Buffer.from(`${username}:${password}`).toString("base64");
  return text.replaceAll(sent, "…").replaceAll(password, "…");
}
