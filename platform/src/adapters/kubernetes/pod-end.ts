/** Ends Pods and removes everything of them. */
import { type Clock, parseTimestamp } from "../../kernel/clock.ts";
import { isNotFound, type KubeApi, KubeRefused, unlessNotFound } from "./kube-api.ts";
import { FINALIZER, type KubeList, type KubeObject, label, note, type Pod, podName } from "./kube-objects.ts";
import type { Places } from "./places.ts";
import type { PodBook } from "./pod-book.ts";
import { type Around, instanceOf, mainOf } from "./pod-state.ts";

export interface EndParts {
  api: KubeApi;
  clock: Clock;
  book: PodBook;
  pod: (id: string) => Pod | undefined;
  /** Takes a state that the API server answered with. */
  take: (pod: Pod) => void;
  around: (pod: Pod) => Around;
  disposed: AbortSignal;
}

/** What an interrupted start left is removed when it is older than this. */
const LEFT_MS = 300_000;

const pathOf = ({ metadata: { namespace, name } }: Pod) => `/api/v1/namespaces/${namespace}/pods/${name}`;

export class PodEnd {
  readonly #parts: EndParts;
  readonly #removing = new Map<string, Promise<void>>();

  constructor(parts: EndParts) {
    this.#parts = parts;
  }

  isEnding(id: string): boolean {
    return this.#removing.has(id);
  }

  /**
   * A deleted Pod's output is gone with its containers, so a Pod is not deleted to stop it. Its deadline is set to a moment that has
   * passed: its node then asks the program to end, and Pod and output stay. Only a program that does not end in time is ended by deletion.
   */
  async stop(id: string, graceMs: number): Promise<void> {
    const { api, clock } = this.#parts;
    const pod = this.#parts.pod(id);
    if (!pod || !this.#isAlive(pod)) return;
    if (instanceOf(pod, this.#parts.around(pod)).state === "pending" && !mainOf(pod)?.state.running) {
      await this.refuse(pod, "no start-refused it was stopped before it began");
      return;
    }
    const late = new AbortController();
    const timer = clock.after(Math.max(graceMs, 1), () => late.abort());
    try {
      const spec = graceMs > 0 && { spec: { activeDeadlineSeconds: 1 } };
      const metadata = { annotations: { [note.stopping]: "true" } };
      await api.call("PATCH", pathOf(pod), { body: { metadata, ...spec } }).catch(unlessNotFound);
      if (graceMs > 0) {
        await this.#until(id, (now) => !this.#isAlive(now), late.signal);
      }
      const now = this.#parts.pod(id);
      if (!now || !this.#isAlive(now)) return;
      await this.#delete(now, 1);
      await this.#until(id, (one) => !this.#isAlive(one));
    } finally {
      timer.cancel();
    }
  }

  #isAlive(pod: Pod): boolean {
    return ["pending", "running"].includes(instanceOf(pod, this.#parts.around(pod)).state);
  }

  /** Resolves when this holds for the Pod, when it is gone, or when `signal` aborts. */
  async #until(id: string, holds: (pod: Pod) => boolean, signal?: AbortSignal): Promise<void> {
    const { book, disposed } = this.#parts;
    const over = signal ? AbortSignal.any([signal, disposed]) : disposed;
    for (let pod = this.#parts.pod(id); pod && !holds(pod) && !over.aborted; pod = this.#parts.pod(id))
      await book.changed(over);
  }

  async #delete(pod: Pod, graceS: number): Promise<void> {
    const { api } = this.#parts;
    const body = {
      kind: "DeleteOptions",
      apiVersion: "v1",
      gracePeriodSeconds: graceS,
      preconditions: { uid: pod.metadata.uid },
    };
    const answer = await api.call<Pod>("DELETE", pathOf(pod), { body }).catch(unlessNotFound);
    if (answer?.metadata?.uid === pod.metadata.uid) this.#parts.take(answer!);
  }

  /** Writes to the Pod why it never begins, and keeps it from beginning. */
  async refuse(pod: Pod, text: string): Promise<void> {
    const { api, take } = this.#parts;
    const body = { metadata: { annotations: { [note.refused]: text.slice(0, 10_000) } } };
    const written = await api.call<Pod>("PATCH", pathOf(pod), { body }).catch(unlessNotFound);
    if (!written) return;
    take(written);
    await this.#delete(written, 0);
  }

  /** The ports of an ended instance are free for others. */
  async unpublish({ metadata: { namespace, name } }: Pod): Promise<void> {
    await this.#parts.api.call("DELETE", `/api/v1/namespaces/${namespace}/services/${name}`).catch(unlessNotFound);
  }

  remove(id: string, pod: Pod): Promise<void> {
    const removing = this.#removing.get(id) ?? this.#remove(id, pod).finally(() => this.#removing.delete(id));
    this.#removing.set(id, removing);
    return removing;
  }

  async #remove(id: string, pod: Pod): Promise<void> {
    const { api } = this.#parts;
    if (!isCleared(pod)) await this.#delete(pod, 1);
    // A node that does not answer ends its Pods when it is back: nobody waits for that.
    await this.#until(id, (now) => isCleared(now) || !this.#parts.around(now).isNodeThere);
    await this.removeParts(pod.metadata.namespace!, id);
    const finalizers = pod.metadata.finalizers?.filter((one) => one !== FINALIZER) ?? [];
    const body = { metadata: { finalizers: finalizers.length > 0 ? finalizers : null, uid: pod.metadata.uid } };
    await api.call("PATCH", pathOf(pod), { body }).catch(unlessGone);
    await this.#delete(pod, 0).catch(unlessGone);
  }

  /** Removes what belongs to an instance beside its Pod. */
  async removeParts(namespace: string, id: string): Promise<void> {
    const name = podName(id);
    const core = `/api/v1/namespaces/${namespace}`;
    const paths = [
      `${core}/secrets/${name}`,
      `${core}/secrets/${name}-pull`,
      `${core}/services/${name}`,
      `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies/${name}`,
    ];
    await Promise.all(paths.map((path) => this.#parts.api.call("DELETE", path).catch(unlessNotFound)));
  }

  /** Removes what belongs to no Pod, because a server ended while it made one. */
  async sweep(places: Places, installation: string): Promise<void> {
    const { api, clock } = this.#parts;
    const query = { labelSelector: `${label.installation}=${installation},${label.part}` };
    for (const resource of ["secrets", "services"]) {
      const { items } = await api.call<KubeList<KubeObject>>("GET", places.everywhere("/api/v1", resource), { query });
      for (const { metadata } of items) {
        const id = metadata.labels![label.part]!;
        const age = clock.now() - (parseTimestamp(metadata.creationTimestamp ?? "") ?? clock.now());
        if (age > LEFT_MS && !this.#parts.pod(id)) await this.removeParts(metadata.namespace!, id);
      }
    }
  }
}

/** Its node has ended and cleared everything of the deleted Pod, or it never had a node. */
function isCleared({ metadata, spec, status }: Pod): boolean {
  if (metadata.deletionTimestamp === undefined) return false;
  const isQuiet = (status?.containerStatuses ?? []).every(({ state }) => !state.running);
  return isQuiet && (metadata.deletionGracePeriodSeconds === 0 || spec.nodeName === undefined);
}

function unlessGone(error: unknown): undefined {
  if (isNotFound(error) || (error instanceof KubeRefused && (error.status === 409 || error.status === 422)))
    return undefined;
  throw error;
}
