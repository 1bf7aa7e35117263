/** The namespaces in which the instances of an installation are: one for all, or one for each account. */
import { isConflict, isForbidden, type KubeApi, unlessNotFound } from "./kube-api.ts";
import { hashOf, label } from "./kube-objects.ts";

export interface PlacesParts {
  api: KubeApi;
  installation: string;
  namespace: string;
  /** Each account has a namespace of its own, whose name begins with `namespace`. */
  perAccount: boolean;
  /** Called once for each namespace, before anything is made in it. */
  prepare: (namespace: string) => Promise<void>;
}

export class Places {
  readonly #parts: PlacesParts;
  readonly #ready = new Map<string, Promise<void>>();

  constructor(parts: PlacesParts) {
    this.#parts = parts;
  }

  of(account: string): string {
    const { namespace, perAccount } = this.#parts;
    return perAccount ? `${namespace.slice(0, 40)}-${hashOf(account).slice(0, 16)}` : namespace;
  }

  /** The path of a resource in all namespaces of this installation. */
  everywhere(api: string, resource: string): string {
    const { namespace, perAccount } = this.#parts;
    return perAccount ? `${api}/${resource}` : `${api}/namespaces/${namespace}/${resource}`;
  }

  async ensure(namespace: string): Promise<void> {
    let ready = this.#ready.get(namespace);
    if (!ready) {
      ready = this.#make(namespace);
      this.#ready.set(namespace, ready);
      ready.catch(() => this.#ready.delete(namespace));
    }
    await ready;
  }

  async #make(namespace: string): Promise<void> {
    const { api, installation, prepare } = this.#parts;
    const found = await api.call("GET", `/api/v1/namespaces/${namespace}`).catch((error) => {
      // An account that may not look at namespaces was given one that exists.
      if (isForbidden(error)) return {};
      return unlessNotFound(error);
    });
    if (!found) {
      const metadata = { name: namespace, labels: { [label.installation]: installation } };
      await api
        .call("POST", "/api/v1/namespaces", { body: { apiVersion: "v1", kind: "Namespace", metadata } })
        .catch((error) => {
          if (!isConflict(error)) throw error;
        });
    }
    await prepare(namespace);
  }
}
