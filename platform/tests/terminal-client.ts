/** A client of a terminal: sends input, and collects what it receives. */
import { once } from "node:events";
import { WebSocket } from "ws";
import type { FakeExecution } from "../src/ports/compute/fake-execution.ts";
import type { FakeInstance } from "../src/ports/compute/fake-instance.ts";
import { type PodWorld, setupPods } from "./pod-world.ts";
import type { World } from "./world.ts";

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails when it is not there
type Said = any;

export class TerminalClient {
  readonly socket: WebSocket;
  /** All bytes received so far. */
  output = "";
  readonly messages: Said[] = [];
  /** Resolves with the close code. */
  readonly closed: Promise<number>;
  #noticed: () => void = () => {};

  constructor(url: string, headers: Record<string, string> = {}) {
    this.socket = new WebSocket(url, { headers });
    const closed = Promise.withResolvers<number>();
    this.closed = closed.promise;
    this.socket.on("error", () => {});
    this.socket.on("close", (code) => {
      closed.resolve(code);
      this.#noticed();
    });
    this.socket.on("message", (data, isBinary) => {
      if (isBinary) this.output += String(data);
      else this.messages.push(JSON.parse(String(data)));
      this.#noticed();
    });
  }

  async opened(): Promise<this> {
    await once(this.socket, "open");
    return this;
  }

  /** How the server answered, if no WebSocket was opened. */
  async refusal(): Promise<{ status: number; detail: string }> {
    const [, response] = await once(this.socket, "unexpected-response");
    let text = "";
    for await (const chunk of response) text += chunk;
    return { status: response.statusCode, detail: JSON.parse(text).detail };
  }

  type(text: string | Buffer): void {
    this.socket.send(Buffer.from(text));
  }

  say(message: object | string): void {
    this.socket.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  /** Resolves when the output contains this text. */
  heard(text: string): Promise<void> {
    return this.#until(() => this.output.includes(text), `output with ${JSON.stringify(text)}`);
  }

  /** Resolves with the first message of this type. */
  async told(type: string): Promise<Said> {
    const found = () => this.messages.find((message) => message.type === type);
    await this.#until(() => found() !== undefined, `a message '${type}'`);
    return found();
  }

  async #until(isTrue: () => boolean, what: string): Promise<void> {
    while (!isTrue()) {
      if (this.socket.readyState === WebSocket.CLOSED)
        throw new Error(`closed before ${what}: ${this.output.slice(-500)} ${JSON.stringify(this.messages)}`);
      await new Promise<void>((resolve) => {
        this.#noticed = resolve;
      });
    }
  }
}

/** Turns a URL from an answer into one that the test can reach. */
export const reachedAt = ({ url }: Pick<World, "url">, given: string) =>
  url.replace(/^http/, "ws") + new URL(given).pathname;

export const podTerminal = (pod: string) => `/v2/pods/${pod}/terminal`;

/** Asks for a terminal at a path, and connects. */
export async function openTerminal(world: World, path: string, body: object = {}): Promise<TerminalClient> {
  const { status, json, text } = await world.call("POST", path, { body });
  if (status !== 201) throw new Error(text);
  return new TerminalClient(reachedAt(world, json.url)).opened();
}

/** Resolves with the next program that is run in an instance. */
export function played(instance: FakeInstance): Promise<FakeExecution> {
  const { promise, resolve } = Promise.withResolvers<FakeExecution>();
  instance.onExec = resolve;
  return promise;
}

export interface PodTerminal {
  world: PodWorld;
  pod: string;
  client: TerminalClient;
  program: FakeExecution;
}

/** A running Pod, a terminal in it, and the program that the test plays. */
export async function setupTerminal(body: object = {}): Promise<PodTerminal & AsyncDisposable> {
  const world = await setupPods();
  const { id } = await world.create();
  const playing = played(world.running()[0]!);
  const client = await openTerminal(world, podTerminal(id), body);
  const program = await playing;
  return { world, pod: id, client, program, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

/** Makes a ticket, and returns its address as the test reaches it. */
export async function ticketFor(world: PodWorld, pod: string, options: Parameters<PodWorld["call"]>[2] = {}) {
  const { json } = await world.call("POST", podTerminal(pod), { body: {}, ...options });
  return reachedAt(world, json.url);
}
