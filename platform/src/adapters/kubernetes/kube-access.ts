/** Finds the cluster and proves to it who asks: by a kubeconfig, or by the service account of the Pod in which the server runs. */
import { Agent, type RequestOptions } from "node:https";
import type { Clock } from "../../kernel/clock.ts";

/** What a request or a WebSocket needs to reach the API server. */
export interface Access {
  url: URL;
  agent: Agent;
  headers: Record<string, string>;
}

export interface AccessOptions {
  /** A kubeconfig's path. Without it, the variable KUBECONFIG, the Pod's service account or `~/.kube/config`. */
  kubeconfig?: string | undefined;
  context?: string | undefined;
  clock: Clock;
}

/** Tokens of service accounts and of login programs are renewed, so they are read again after this long. */
const FRESH_MS = 30_000;

export class KubeAccess {
  readonly #options: AccessOptions;
  #config: Promise<import("@kubernetes/client-node/dist/config.js").KubeConfig> | undefined;
  #access: Promise<Access> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #agent: { key: string; agent: Agent } | undefined;

  constructor(options: AccessOptions) {
    this.#options = options;
  }

  /** Reads the files and asks login programs. Throws in words when there is no cluster. */
  find(): Promise<Access> {
    const now = this.#options.clock.monotonic();
    if (!this.#access || now - this.#readAt > FRESH_MS) {
      this.#readAt = now;
      this.#access = this.#read();
      // A failure is not kept: the file may be there next time.
      this.#access.catch(() => {
        this.#access = undefined;
      });
    }
    return this.#access;
  }

  /** The library is loaded here and not at the start of the server: that takes half a second, also without Kubernetes. */
  async #load() {
    const { KubeConfig } = await import("@kubernetes/client-node/dist/config.js");
    const config = new KubeConfig();
    const { kubeconfig, context } = this.#options;
    if (kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
    if (context !== undefined) config.setCurrentContext(context);
    return config;
  }

  async #read(): Promise<Access> {
    this.#config ??= this.#load();
    const config = await this.#config.catch((error: Error) => {
      this.#config = undefined;
      throw new Error(`the kubeconfig cannot be read: ${error.message}`, { cause: error });
    });
    const cluster = config.getCurrentCluster();
    if (!cluster) throw new Error("the kubeconfig names no cluster: set MILLRACE_KUBECONFIG, or a current context");
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    (options.agent as Agent | undefined)?.destroy();
    return { url: new URL(cluster.server), agent: this.#agentFor(options), headers: plain(options.headers) };
  }

  /** Connections are kept as long as the certificates are the same. */
  #agentFor({ ca, cert, key, pfx, passphrase, rejectUnauthorized, servername }: RequestOptions): Agent {
    const tls = {
      ca,
      cert,
      key,
      pfx,
      passphrase,
      servername,
      ...(rejectUnauthorized === false && { rejectUnauthorized }),
    };
    const text = JSON.stringify(tls);
    if (this.#agent?.key !== text) {
      this.#agent?.agent.destroy();
      this.#agent = { key: text, agent: new Agent({ ...tls, keepAlive: true, maxFreeSockets: 16 }) };
    }
    return this.#agent.agent;
  }

  [Symbol.dispose](): void {
    this.#agent?.agent.destroy();
  }
}

const plain = (headers: RequestOptions["headers"] = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
