/** An SSH client for tests, and keys to log in with. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import ssh2, { type Client, type ClientChannel, type ConnectConfig, type ExecOptions } from "ssh2";
import { hostKeyText, publicBlob } from "../src/surfaces/ssh/host-key-text.ts";

export interface KeyPair {
  private: string;
  /** The line for the account's list of keys. */
  public: string;
}

const { Client: SshClient } = ssh2;

/** Not made by the library, which cannot read one in a few hundred of its own keys. */
export function newKeyPair(): KeyPair {
  const seed = randomBytes(32);
  return { private: hostKeyText(seed), public: `ssh-ed25519 ${publicBlob(seed).toString("base64")} me@home` };
}

export interface Login extends ConnectConfig {
  port: number;
  username: string;
}

/** Rejects with the server's answer. */
export async function logIn(login: Login): Promise<Client & AsyncDisposable> {
  const client = new SshClient();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  client
    .once("ready", resolve)
    .on("error", reject)
    .once("close", () => reject(new Error("closed")));
  client.connect({ host: "127.0.0.1", readyTimeout: 0, ...login });
  await promise;
  return Object.assign(client, {
    async [Symbol.asyncDispose]() {
      client.destroy();
    },
  });
}

export function execOn(client: Client, command: string, options: ExecOptions = {}): Promise<ClientChannel> {
  return new Promise((resolve, reject) =>
    client.exec(command, options, (error, channel) => (error ? reject(error) : resolve(channel))),
  );
}

/** Opens a connection to a host and port through the server, as `ssh -L` and `ssh -D` do. */
export function dialOn(client: Client, host: string, port: number): Promise<ClientChannel> {
  return new Promise((resolve, reject) =>
    client.forwardOut("127.0.0.1", 1, host, port, (error, channel) => (error ? reject(error) : resolve(channel))),
  );
}

/** Opens a shell with a terminal of 100 columns. */
export function shellOn(client: Client): Promise<ClientChannel> {
  return new Promise((resolve, reject) =>
    client.shell({ cols: 100, rows: 30, term: "xterm" }, (error, channel) =>
      error ? reject(error) : resolve(channel),
    ),
  );
}

export interface Ran {
  out: string;
  errors: string;
  code: number | null;
  signal: string | undefined;
}

/** Reads a channel to its end. */
export async function outcomeOf(channel: ClientChannel): Promise<Ran> {
  const closed = once(channel, "close") as Promise<[number | null, string | undefined]>;
  const [out, errors, [code, signal]] = await Promise.all([text(channel), text(channel.stderr), closed]);
  return { out, errors, code, signal };
}
