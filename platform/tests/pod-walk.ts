/** The life of a Pod on a real server, from its template to its end: the same on the host and in containers. */
import { once } from "node:events";
import { connect } from "node:net";
import { expect } from "vitest";
import { stay } from "../src/kernel/clock.ts";
import { askHost } from "./pod-application.ts";
import { podLines } from "./pod-lines.ts";
import { useTerminal } from "./terminal-walk.ts";
import { LOOK_MS, type ServerPlace, TRIES } from "./worker-place.ts";
import type { Answer } from "./world.ts";

type Pod = Answer["json"];

/** What a boot found. */
interface Boot {
  disk: number;
  mount: number;
  token: string;
}

export class PodWalk {
  readonly #at: ServerPlace;
  readonly id: string;

  private constructor(at: ServerPlace, id: string) {
    this.#at = at;
    this.id = id;
  }

  /** Makes a Pod from a template with a secret, both kinds of ports and a persistent mount. */
  static async begin(at: ServerPlace, program: { image: string; cmd: string[] }): Promise<PodWalk> {
    const made = async (path: string, body: object) => {
      const { status, json, text } = await at.call("POST", path, body);
      expect([status, status === 201 ? "" : text]).toEqual([201, ""]);
      return json.id as string;
    };
    await made("/v2/account/secrets", { name: "token", value: "one" });
    const templateId = await made("/v2/templates", {
      name: "walk",
      ...program,
      env: { TOKEN: "{{ RUNPOD_SECRET_token }}" },
      ports: ["8080/http", "2222/tcp"],
      mounts: { persistent: { size: 10, path: "/workspace" } },
    });
    return new PodWalk(at, await made("/v2/pods", { name: "walk", templateId, gpu: { id: "NVIDIA A40" } }));
  }

  async pod(): Promise<Pod> {
    return (await this.#at.call("GET", `/v2/pods/${this.id}`)).json;
  }

  async is(status: string): Promise<Pod> {
    for (let tries = 0; ; tries++) {
      const pod = await this.pod();
      if (pod.status === status) return pod;
      if (tries === TRIES || pod.status === "ERROR") throw new Error(`it is not ${status}: ${JSON.stringify(pod)}`);
      await stay(LOOK_MS);
    }
  }

  async act(action: string): Promise<number> {
    return (await this.#at.call("POST", `/v2/pods/${this.id}/action`, { action })).status;
  }

  async change(body: object): Promise<Pod> {
    return (await this.#at.call("PATCH", `/v2/pods/${this.id}`, body)).json;
  }

  /** What the boot of this number printed, read from the log. */
  async boot(number: number): Promise<Boot> {
    const said = await podLines(this.#at, this.id, /^\{/, number);
    return JSON.parse(said[number - 1]!) as Boot;
  }

  /** Connects to its TCP port as anyone could, reads who it is, and may send it a command. */
  async knock(word = ""): Promise<string> {
    const { runtime } = await this.is("RUNNING");
    const port = runtime.ports.find((one: { private: number }) => one.private === 2222);
    for (let tries = 0; ; tries++) {
      const socket = connect(port.public, port.ip);
      socket.on("error", () => {});
      try {
        const [heard] = (await once(socket.setEncoding("utf8"), "data")) as [string];
        socket.end(word);
        return heard.trim();
      } catch (error) {
        // The Pod counts as running before its program listens.
        if (tries === TRIES || (error as NodeJS.ErrnoException).code !== "ECONNREFUSED") throw error;
        await stay(LOOK_MS);
      }
    }
  }
}

/** Everything that may happen to a Pod, and what survives it. `keepsDisk` says whether the driver keeps the disk of a failed program. */
export async function walk(at: ServerPlace, pod: PodWalk, { keepsDisk = true } = {}): Promise<void> {
  expect(await pod.boot(1)).toEqual({ disk: 1, mount: 1, token: "one" });
  const { runtime } = await pod.is("RUNNING");
  const { public: port } = runtime.ports.find((one: { private: number }) => one.private === 2222);
  expect(await pod.knock()).toBe(`I am ${pod.id}`);
  const headers = { "X-Millrace-Key": at.key };
  expect((await askHost(at.server.url, `${pod.id}-8080.localhost`, { path: "/x", headers })).text).toBe("hello /x");
  await useTerminal(at, pod.id);

  // The server is killed, and the Pod does not notice.
  await at.restart("SIGKILL");
  expect(await pod.knock()).toBe(`I am ${pod.id}`);

  // When its program fails, the disk is kept where the driver can.
  await pod.knock("exit 7");
  expect(await pod.boot(2)).toMatchObject({ disk: keepsDisk ? 2 : 1, mount: 2 });
  await pod.is("RUNNING");

  // After a stop and a start, the disk is new, the mount and the port are the same, and the secret is the current one.
  const [secret] = (await at.call("GET", "/v2/account/secrets?name=token")).json.secrets;
  await at.call("PATCH", `/v2/account/secrets/${secret.id}`, { value: "two" });
  expect(await pod.act("stop")).toBe(200);
  await pod.is("EXITED");
  expect(await pod.act("start")).toBe(200);
  expect(await pod.boot(3)).toEqual({ disk: 1, mount: 3, token: "two" });
  const started = (await pod.is("RUNNING")).runtime.ports;
  expect(started.find((one: { private: number }) => one.private === 2222).public).toBe(port);

  // A restart and a change each make a new disk.
  expect(await pod.act("restart")).toBe(200);
  expect(await pod.boot(4)).toMatchObject({ disk: 1, mount: 4 });
  await pod.is("RUNNING");
  expect(await pod.change({ env: { TOKEN: "plain" } })).toMatchObject({ statusReason: "restarts: env changed" });
  expect(await pod.boot(5)).toEqual({ disk: 1, mount: 5, token: "plain" });
  await pod.is("RUNNING");

  // Its program ends successfully.
  await pod.knock("exit 0");
  expect((await pod.is("EXITED")).statusReason).toBe("its program ended by itself (exit 0)");
  expect(await pod.act("terminate")).toBe(204);
  expect((await at.call("GET", `/v2/pods/${pod.id}`)).status).toBe(404);
}
