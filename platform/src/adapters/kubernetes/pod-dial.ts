/** Connects to ports of Pods: by address inside the cluster, and through the API server outside it. */
import { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { Clock } from "../../kernel/clock.ts";
import { type LoopbackTarget, notReached, placesOf } from "../../ports/compute/loopback.ts";
import { connectTo } from "../machine/connection.ts";
import type { KubeApi } from "./kube-api.ts";
import type { Pod } from "./kube-objects.ts";
import { PodChannels } from "./pod-channels.ts";

export type DialMode = "address" | "forward";

const PROTOCOL = "v4.channel.k8s.io";
const [DATA, ERROR] = [0, 1] as const;
/** Each channel begins with the number of the port. */
const PORT_BYTES = 2;
/**
 * Kubernetes reports that nobody listens, and is silent when somebody does. So silence for this long is taken as a yes. The report comes
 * from the node itself and takes a few milliseconds there.
 */
const REFUSED_MS = 150;

export interface DialParts {
  api: KubeApi;
  clock: Clock;
  mode: DialMode;
}

export class PodDial {
  readonly #parts: DialParts;

  constructor(parts: DialParts) {
    this.#parts = parts;
  }

  dial(pod: Pod, port: number): Promise<Duplex> {
    const host = pod.status?.podIP;
    return this.#parts.mode === "address" && host ? connectTo({ host, port }) : this.forward(pod, port);
  }

  /** The node connects inside the Pod, so what listens on the loopback is reached as well. */
  async forward({ metadata: { namespace, name } }: Pod, port: number): Promise<Duplex> {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/portforward`;
    const socket = await this.#parts.api.connect(path, { ports: String(port) }, PROTOCOL);
    const connection = new Forwarded(socket, this.#parts.clock);
    await connection.opened;
    return connection;
  }

  async loopback(id: string, pod: Pod, target: LoopbackTarget): Promise<Duplex> {
    const [place] = placesOf(target);
    if (place!.host !== "127.0.0.1" && place!.host !== "::1")
      throw notReached(id, target, "Kubernetes reaches only 127.0.0.1 and ::1 of a Pod");
    return this.forward(pod, target.port).catch((error: Error) => {
      throw notReached(id, target, error.message, error);
    });
  }
}

class Forwarded extends Duplex {
  readonly opened: Promise<void>;
  readonly #channels: PodChannels;
  readonly #socket: WebSocket;
  readonly #open = Promise.withResolvers<void>();
  /** How many bytes of the port's number are still to come, by channel. */
  readonly #head = [PORT_BYTES, PORT_BYTES];
  #more: (() => void) | undefined;

  constructor(socket: WebSocket, clock: Clock) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    this.opened = this.#open.promise;
    this.on("error", () => {});
    const timer = clock.after(REFUSED_MS, () => this.#open.resolve());
    this.opened.then(
      () => timer.cancel(),
      () => timer.cancel(),
    );
    this.#channels = new PodChannels(
      socket,
      (channel, piece) => this.#take(channel, piece),
      () => this.#closed(),
    );
  }

  #take(channel: number, piece: Buffer): Promise<void> | undefined {
    const skipped = Math.min(this.#head[channel] ?? 0, piece.length);
    this.#head[channel]! -= skipped;
    const rest = piece.subarray(skipped);
    if (rest.length === 0) return undefined;
    if (channel === ERROR) {
      const error = new Error(String(rest).trim());
      this.#open.reject(error);
      this.destroy(error);
      return undefined;
    }
    if (channel !== DATA) return undefined;
    this.#open.resolve();
    if (this.destroyed || this.push(rest)) return undefined;
    return new Promise((resolve) => {
      this.#more = resolve;
    });
  }

  #closed(): void {
    this.#open.reject(new Error("the connection ended at once"));
    if (!this.destroyed) this.push(null);
    this.#more?.();
  }

  override _read(): void {
    this.#more?.();
    this.#more = undefined;
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#channels.send(DATA, chunk, done);
  }

  /** This protocol cannot end one direction alone. */
  override _final(done: () => void): void {
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#more?.();
    this.#socket.terminate();
    done(error);
  }
}
