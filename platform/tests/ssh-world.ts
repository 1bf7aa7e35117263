/** A Pod on a fake machine that tests log in to by SSH. */
import type { Client } from "ssh2";
import type { FakeExecution } from "../src/ports/compute/fake-execution.ts";
import type { FakeInstance } from "../src/ports/compute/fake-instance.ts";
import { CPU_POD, type PodWorld, type PodWorldOptions, setupPods } from "./pod-world.ts";
import { type KeyPair, type Login, logIn, newKeyPair } from "./ssh-client.ts";

export interface SshWorld extends PodWorld {
  id: string;
  instance: FakeInstance;
  key: string;
  pair: KeyPair;
  port: number;
  /** Logs in as the owner, unless told otherwise. */
  logIn(login?: Partial<Login>): Promise<Client & AsyncDisposable>;
  /** Each program that is run in the Pod is given to `play`. */
  plays(play: (program: FakeExecution) => void): void;
  /** The lines of the log with this message. */
  told(message: string): Record<string, unknown>[];
}

export async function setupSsh(options: PodWorldOptions & { pod?: object } = {}): Promise<SshWorld> {
  const { pod, ...rest } = options;
  const world = await setupPods(rest);
  const pair = newKeyPair();
  await world.call("PUT", "/v2/account/ssh-keys", { body: { keys: [pair.public] } });
  const port = await world.app.ssh.open("127.0.0.1", [0]);
  const { id } = await world.create({ ...CPU_POD, ...pod });
  const username: string = (await world.pod(id)).ssh.proxy.username;
  const [instance] = world.running();
  return {
    ...world,
    ...{ id, instance: instance!, pair, port },
    logIn: (login) => logIn({ port, username, privateKey: pair.private, ...login }),
    plays(play) {
      instance!.onExec = play;
    },
    told: (message) => world.logged.map((line) => JSON.parse(line)).filter((line) => line.message === message),
  };
}
