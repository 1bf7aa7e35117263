/** Which account may run which image: all run what the operator put on the machine, and each runs what it may pull. */
import type { Clock } from "../kernel/clock.ts";
import type { Kept } from "../kernel/document.ts";
import { type Compute, type RegistryCredential, StartRefused } from "../ports/compute/compute.ts";
import { exactly, type ImageReference, parseReference } from "../ports/compute/image-reference.ts";
import { type Bringing, ImageDenied, RegistryAway } from "../ports/compute/images.ts";
import { Collection, type Decision } from "../ports/store/collection.ts";
import { type Store, WriteRefused } from "../ports/store/store.ts";

/** An image that a registry once let an account pull. */
export type Proof = {
  repository: string;
  /** Null if the account named the image by its digest alone. */
  tag: string | null;
  digest: string;
};

/** The latest proofs come first. Each account has one record, which all nodes share and which is removed with the account. */
export type KeptProofs = { proofs: Proof[] };

const imageProofs: Kept<KeptProofs> = { kind: "image-proofs", v: 1 };

/** An account keeps at most this many proofs; the oldest are dropped first. */
export const MOST_PROOFS = 256;
/** A registry that has not answered by then counts as unreachable, because somebody waits for a worker. */
export const LOOKUP_MS = 10_000;

export interface Wanted extends Bringing {
  image: string;
  /** The box in which the image will run. */
  box: string;
  account: string;
  /** Called when the registry is asked. */
  asking?: () => void;
}

export interface ImagesParts {
  store: Store;
  compute: Pick<Compute, "images" | "preparing">;
  clock: Clock;
}

export class Images {
  readonly #proofs: Collection<KeptProofs>;
  readonly #parts: ImagesParts;
  /** Questions to registries that are under way, by account and image. A hundred workers that start at once ask a registry only once. */
  readonly #asking = new Map<string, Promise<string>>();
  #ready: Promise<void> | undefined;

  constructor(parts: ImagesParts) {
    this.#parts = parts;
    this.#proofs = new Collection(parts.store, imageProofs);
  }

  /**
   * Resolves with the image to start for the account. If the driver can prepare images, the image is in the box by then. Throws
   * StartRefused with the reason.
   */
  async prepare(wanted: Wanted): Promise<string> {
    const { compute } = this.#parts;
    const { image, box, progress, arrived, credential } = wanted;
    const isOpen = (await compute.images.originOf(image)) === "operator";
    const exact = isOpen ? image : await this.#proved(wanted);
    await compute.preparing?.prepare(exact, box, { progress, arrived, credential });
    return exact;
  }

  /** Returns the exact image that the account may run. A tag may have moved since the last time, so the registry is asked every time. */
  async #proved(wanted: Wanted): Promise<string> {
    const reference = parseReference(wanted.image);
    if (reference.digest !== undefined && (await this.#remembered(wanted.account, reference)) !== undefined)
      return exactly(reference, reference.digest);
    try {
      wanted.asking?.();
      const exact = await this.#ask(wanted);
      const { digest } = parseReference(exact);
      // This comes before the image is pulled: an image on the machine without a record would belong to nobody.
      await this.#remember(wanted.account, { ...proofOf(reference), digest: digest! });
      return exact;
    } catch (error) {
      if (error instanceof RegistryAway) return this.#withoutRegistry(wanted, reference, error.message);
      if (error instanceof StartRefused) await this.#forget(wanted.account, reference, error instanceof ImageDenied);
      throw error;
    }
  }

  async #withoutRegistry({ account, image, progress }: Wanted, reference: ImageReference, why: string) {
    const digest = await this.#remembered(account, reference);
    if (digest === undefined)
      throw new StartRefused(
        `cannot pull ${image}: its registry could not be asked (${why}), and this account has not shown before that it may pull it`,
        { reason: "registry-away" },
      );
    progress(`its registry could not be asked (${why}): running the version that this account ran last`);
    return exactly(reference, digest);
  }

  #ask({ image, account, credential }: Wanted): Promise<string> {
    const who = JSON.stringify([account, image, credential]);
    const asking = this.#asking.get(who) ?? this.#askOnce(image, credential).finally(() => this.#asking.delete(who));
    this.#asking.set(who, asking);
    return asking;
  }

  async #askOnce(image: string, credential: RegistryCredential | undefined): Promise<string> {
    const { compute, clock } = this.#parts;
    const late = new AbortController();
    const timer = clock.after(LOOKUP_MS, () => late.abort());
    try {
      return await compute.images.lookUp(image, { credential, signal: late.signal });
    } finally {
      timer.cancel();
    }
  }

  /** The digest that a reference had when the account last proved that it may pull it. */
  async #remembered(account: string, { repository, tag, digest }: ImageReference): Promise<string | undefined> {
    await this.#prepared();
    const proofs = (await this.#proofs.get(account))?.doc.proofs ?? [];
    const isIt = (proof: Proof) => (digest === undefined ? proof.tag === tag : proof.digest === digest);
    return proofs.find((proof) => proof.repository === repository && isIt(proof))?.digest;
  }

  /** Writes only if there is something new. Most boots prove what was proved before. */
  async #remember(account: string, proof: Proof): Promise<void> {
    await this.#change(account, (proofs) => {
      if (proofs.some((one) => isSaidBy(proof, one))) return proofs;
      // When a tag has moved, the account may still name the previous image by its digest.
      const others = proofs.map((one) => (isSameTag(one, proof) ? { ...one, tag: null } : one));
      return [proof, ...others.filter((one) => !isSaidBy(one, proof))].slice(0, MOST_PROOFS);
    });
  }

  /** A refusal of the registry removes proofs: all of the repository if access is denied, or else those of the missing image. */
  async #forget(account: string, reference: ImageReference, isDenied: boolean): Promise<void> {
    const { tag, digest } = reference;
    const isMeant = (proof: Proof) => isDenied || (digest === undefined ? proof.tag === tag : proof.digest === digest);
    await this.#change(account, (proofs) =>
      proofs.filter((proof) => proof.repository !== reference.repository || !isMeant(proof)),
    );
  }

  async #change(account: string, edit: (proofs: Proof[]) => Proof[]): Promise<void> {
    await this.#prepared();
    const decide = ({ doc }: { doc: KeptProofs }): Decision<KeptProofs> | undefined => {
      const proofs = edit(doc.proofs);
      return JSON.stringify(proofs) === JSON.stringify(doc.proofs) ? undefined : { set: { proofs } };
    };
    if (await this.#proofs.change(account, decide)) return;
    const proofs = edit([]);
    if (proofs.length === 0) return;
    try {
      await this.#proofs.insert({ id: account, account, createdAt: this.#parts.clock.now(), doc: { proofs } });
    } catch (error) {
      if (!(error instanceof WriteRefused)) throw error;
      // Another node wrote the account's first proof at the same time.
      await this.#proofs.change(account, decide);
    }
  }

  #prepared(): Promise<void> {
    this.#ready ??= this.#proofs.prepare().catch((error) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }
}

const proofOf = ({ repository, tag }: ImageReference) => ({ repository, tag: tag ?? null });

const isSameTag = (one: Proof, other: Proof) =>
  one.tag !== null && one.repository === other.repository && one.tag === other.tag;

/** A proof of a digest alone adds nothing to one that also has a tag. */
const isSaidBy = (one: Proof, other: Proof) =>
  one.repository === other.repository && one.digest === other.digest && (one.tag === null || one.tag === other.tag);
