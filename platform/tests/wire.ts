/** A plain HTTP client for load: many requests at once on connections that stay open. It rejects when the server is gone. */
import { Agent, request } from "node:http";

export interface Reply {
  status: number;
  text: string;
}

export interface Begun {
  /** Whether the server has begun to answer. */
  isAnswered(): boolean;
  /** Resolves once this piece was handed to the network. */
  write(part: string): Promise<void>;
  end(rest?: string): Promise<Reply>;
}

export class Wire implements Disposable {
  readonly #url: string;
  readonly #agent: Agent;

  constructor(url: string, connections = 64) {
    this.#url = url;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** Rejects if the connection breaks before the whole answer has arrived. */
  send(method: string, path: string, key: string, body = ""): Promise<Reply> {
    return this.begin(method, path, key, Buffer.byteLength(body)).end(body);
  }

  /** Begins a request whose body of this many bytes is sent piece by piece. */
  begin(method: string, path: string, key: string, length: number): Begun {
    const headers = { authorization: key, "content-length": length };
    const sent = request(this.#url + path, { method, agent: this.#agent, headers });
    let answered = false;
    const reply = new Promise<Reply>((resolve, reject) => {
      sent.once("error", reject);
      sent.once("response", (response) => {
        answered = true;
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        response.once("end", () => resolve({ status: response.statusCode ?? 0, text }));
        response.once("error", reject);
        response.once("aborted", () => reject(new Error("the connection broke in the middle of an answer")));
      });
    });
    return {
      isAnswered: () => answered,
      write: (part) => new Promise((resolve) => void sent.write(part, () => resolve())),
      end(rest) {
        sent.end(rest);
        return reply;
      },
    };
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
