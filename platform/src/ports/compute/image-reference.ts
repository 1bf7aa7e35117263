/** References to container images, read as every engine reads them: `registry/path:tag`, `path@sha256:…`, and with parts left out. */

export interface ImageReference {
  /** Registry and path as they were written. */
  name: string;
  /** The name with the left-out parts filled in, since one repository has many spellings. */
  repository: string;
  /** Undefined if there is a digest, which takes precedence over a tag. */
  tag: string | undefined;
  digest: string | undefined;
}

const DOCKER_HUB = "docker.io";
const DIGEST = /^(.+)@([a-z0-9]+:[0-9a-f]{32,128})$/;
/** A tag comes after the last slash. A colon before that belongs to a port. */
const TAG = /^(.+):([^/:]+)$/;

export function parseReference(image: string): ImageReference {
  const [, exact, digest] = DIGEST.exec(image) ?? [];
  const [, named, tag] = TAG.exec(exact ?? image) ?? [];
  const name = named ?? exact ?? image;
  return {
    name,
    repository: repositoryOf(name),
    tag: digest === undefined ? (tag ?? "latest") : undefined,
    digest,
  };
}

/** The part before the first slash is a registry if it looks like a host. Otherwise the path is on Docker Hub. */
function repositoryOf(name: string): string {
  const [first, ...rest] = name.split("/");
  const isHost = rest.length > 0 && (/[.:]/.test(first!) || first === "localhost");
  const registry = isHost && first !== "index.docker.io" ? first! : DOCKER_HUB;
  const path = isHost ? rest : [first!, ...rest];
  const isOfficial = registry === DOCKER_HUB && path.length === 1;
  return [registry, ...(isOfficial ? ["library"] : []), ...path].join("/");
}

const LONGEST = 512;

/** Whether a text can go into a request to an engine without gaining another meaning there. */
export const isReference = (image: string): boolean =>
  image.length <= LONGEST && /^[\w.:@/-]+$/.test(image) && !/(^|\/)\.{0,2}(\/|$)/.test(image);

/** Returns the reference that always means this one image. */
export const exactly = ({ name }: ImageReference, digest: string) => `${name}@${digest}`;

/** Whether two references mean the same tag or digest of the same repository. */
export function isSame(one: string, other: string): boolean {
  const [a, b] = [parseReference(one), parseReference(other)];
  return a.repository === b.repository && a.tag === b.tag && a.digest === b.digest;
}
