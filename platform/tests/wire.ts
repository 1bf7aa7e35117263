/** A plain HTTP client for load: many requests at once on connections that stay open, and no answer when the server is gone. */
import { Agent, request } from "node:http";

export interface Reply {
  status: number;
  text: string;
}

export class Wire implements Disposable {
  readonly #url: string;
  readonly #agent: Agent;

  constructor(url: string, connections = 64) {
    this.#url = url;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** Rejects when the connection breaks before the whole answer is there. */
  send(method: string, path: string, key: string, body?: string): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: key, "content-length": Buffer.byteLength(body ?? "") };
      const sent = request(this.#url + path, { method, agent: this.#agent, headers }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        response.once("end", () => resolve({ status: response.statusCode ?? 0, text }));
        response.once("error", reject);
        response.once("aborted", () => reject(new Error("the connection broke in the middle of an answer")));
      });
      sent.once("error", reject);
      sent.end(body);
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
