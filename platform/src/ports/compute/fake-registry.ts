/** The registry of the fake driver: it holds images that a test puts there, may need a password, and can be made unreachable. */
import { createHash } from "node:crypto";
import { type RegistryCredential, StartRefused } from "./compute.ts";
import { exactly, type ImageReference, parseReference } from "./image-reference.ts";
import { type Bringing, ImageDenied, type Lookup, RegistryAway } from "./images.ts";

interface Repository {
  credential: RegistryCredential | undefined;
  tags: Map<string, string>;
  digests: Set<string>;
}

export class FakeRegistry {
  /** Why it cannot be reached now; undefined when it can. */
  away: string | undefined;
  /** While true, it takes requests and never answers. */
  silent = false;
  /** Runs during a pull until everything is sent. By default everything arrives at once. */
  pace: ((bringing: Bringing) => Promise<void>) | undefined;
  /** Every reference that was looked up, in order. */
  readonly asked: string[] = [];
  /** The images that the driver's machine has. */
  readonly #here = new Set<string>();
  readonly #repositories = new Map<string, Repository>();

  /** Makes a tag point to this content, and the repository need this credential. Returns the exact reference. */
  put(image: string, content: string, credential?: RegistryCredential): string {
    const reference = parseReference(image);
    const digest = `sha256:${createHash("sha256").update(content).digest("hex")}`;
    const known = this.#repositories.get(reference.repository);
    const repository = known ?? { credential, tags: new Map(), digests: new Set() };
    repository.credential = credential;
    repository.tags.set(reference.tag ?? "latest", digest);
    repository.digests.add(digest);
    this.#repositories.set(reference.repository, repository);
    return exactly(reference, digest);
  }

  has({ repository }: ImageReference): boolean {
    return this.#repositories.has(repository);
  }

  /** Sends an image, unless the machine has it. */
  async send(image: string, bringing: Bringing): Promise<void> {
    if (this.has(parseReference(image)) && !this.#here.has(image)) await this.pace?.(bringing);
  }

  /** Puts this exact image on the machine. Returns why that is impossible, or undefined. */
  bring(image: string): string | undefined {
    const reference = parseReference(image);
    if (!this.has(reference) || this.#here.has(image)) return undefined;
    if (this.away !== undefined) return `cannot pull ${image}: ${this.away}`;
    if (reference.digest === undefined) return `there is no image ${image} on this machine`;
    this.#here.add(image);
    return undefined;
  }

  whyNotHere(image: string): string | undefined {
    const isMissing = this.has(parseReference(image)) && !this.#here.has(image);
    return isMissing ? `there is no image ${image} on this machine` : undefined;
  }

  async lookUp(image: string, { credential, signal }: Lookup): Promise<string> {
    this.asked.push(image);
    if (this.silent && !signal.aborted)
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    if (signal.aborted || this.away !== undefined) throw new RegistryAway(this.away ?? "no answer in time");
    const reference = parseReference(image);
    const repository = this.#repositories.get(reference.repository);
    if (repository?.credential && JSON.stringify(credential) !== JSON.stringify(repository.credential))
      throw new ImageDenied(`cannot pull ${image}: unauthorized`);
    const digest = reference.digest ?? repository?.tags.get(reference.tag!);
    if (digest === undefined || !repository?.digests.has(digest))
      throw new StartRefused(`cannot pull ${image}: manifest unknown`, { reason: "image-not-found" });
    return exactly(reference, digest);
  }
}
