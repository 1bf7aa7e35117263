/** Who may log in by SSH, and what happens to others who try. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { execOn, logIn, newKeyPair, outcomeOf } from "../../../tests/ssh-client.ts";
import { type SshWorld, setupSsh } from "../../../tests/ssh-world.ts";
import {
  FREE_FAILURES,
  KEPT_OUT_MS,
  LEAST_DELAY_MS,
  LONGEST_DELAY_MS,
  MOST_FAILURES,
} from "../../guards/login-attempts.ts";
import { LOGIN_MS, MOST_STRANGERS, MOST_STRANGERS_OF_ADDRESS } from "./server.ts";

const REFUSED = "All configured authentication methods failed";
const other = newKeyPair();

/** A login that fails, after its delay. */
async function refused(world: SshWorld, login: Parameters<SshWorld["logIn"]>[0] = {}, delayMs = LEAST_DELAY_MS) {
  const tried = world.logIn({ privateKey: other.private, ...login }).then(
    () => "let in",
    (error: Error) => error.message,
  );
  await world.clock.armed(delayMs);
  await world.clock.advance(delayMs);
  return tried;
}

const setKeys = (world: SshWorld, keys: string[], key = world.key) =>
  world.call("PUT", "/v2/account/ssh-keys", { key, body: { keys } });

describe("a key of the Pod's account", () => {
  test("opens it from the moment that it is registered, and no more once it is removed", async () => {
    await using world = await setupSsh();
    expect(await refused(world)).toBe(REFUSED);
    await setKeys(world, [world.pair.public, other.public]);
    await using client = await world.logIn({ privateKey: other.private });
    await setKeys(world, [world.pair.public]);
    expect(await refused(world)).toBe(REFUSED);
    // A client that is logged in stays connected.
    expect((await outcomeOf(await execOn(client, "true"))).code).toBe(255);
  });

  test("is told in the record of the Pod where it leads", async () => {
    await using world = await setupSsh();
    const { proxy } = (await world.pod(world.id)).ssh;
    const username = expect.stringMatching(new RegExp(`^${world.id}-[0-9a-f]{8}$`));
    expect(proxy).toEqual({ host: "millrace.test", port: world.port, username, command: expect.any(String) });
    expect(proxy.command).toBe(`ssh ${proxy.username}@millrace.test -p ${world.port}`);
  });
});

test("whatever is wrong, the answer is the same and takes as long; the log alone knows more", async () => {
  await using world = await setupSsh();
  const stranger = await world.strangersKey();
  await setKeys(world, [other.public], stranger);
  const { username } = (await world.pod(world.id)).ssh.proxy;
  const right = { privateKey: world.pair.private };
  const tries = [
    {},
    { ...right, username: "aaaaaaaaaaaaaa-12345678" },
    { ...right, username: `${world.id}-00000000` },
    { ...right, username: `${world.id}` },
    { username: `${username}`, privateKey: other.private },
    { ...right, username: "root" },
  ];
  for (const login of tries) expect(await refused(world, login)).toBe(REFUSED);
  const told = world.told("SSH login refused");
  expect(told).toHaveLength(tries.length);
  expect(told[0]).toEqual({
    ...{ message: "SSH login refused", address: "127.0.0.1", user: username },
    ...{ key: expect.stringMatching(/^SHA256:/), reason: "no such Pod, or the key is none of its account's" },
  });
  expect(world.logged.join()).not.toContain(other.public.split(" ")[1]);
});

test("a password is not taken, and not written down", async () => {
  await using world = await setupSsh();
  expect(await refused(world, { privateKey: undefined, password: "correct horse" })).toBe(REFUSED);
  expect(world.told("SSH login refused")).toMatchObject([{ reason: "password is not taken, keys are" }]);
  expect(world.logged.join()).not.toContain("correct horse");
});

test("an address that fails again and again waits longer and longer, is kept out, and is let in again", async () => {
  await using world = await setupSsh();
  for (let failures = 0; failures < MOST_FAILURES; failures++) {
    const delayMs = Math.min(LONGEST_DELAY_MS, LEAST_DELAY_MS * 2 ** Math.max(0, failures - FREE_FAILURES));
    expect(await refused(world, {}, delayMs)).toMatch(/failed|closed|reset/);
  }
  expect(world.told("SSH login refused").at(-1)).toMatchObject({ keptOut: true });
  await expect(world.logIn()).rejects.toThrow();
  expect(world.told("SSH connection refused")).toMatchObject([{ reason: expect.stringContaining("kept out") }]);
  await world.clock.advance(KEPT_OUT_MS);
  await using client = await world.logIn();
  expect((await outcomeOf(await execOn(client, "true"))).code).toBe(255);
});

describe("who does not say who it is", () => {
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  const knock = async ({ port }: SshWorld, localAddress = "127.0.0.1") => {
    const socket = connect({ port, host: "127.0.0.1", localAddress }).on("error", () => {});
    sockets.push(socket);
    await once(socket, "data");
    return socket;
  };

  test("is sent away after a while", async () => {
    await using world = await setupSsh();
    const socket = await knock(world);
    const closed = once(socket, "close");
    await world.clock.advance(LOGIN_MS);
    await closed;
    expect(world.told("SSH login refused")).toMatchObject([{ reason: "no login within 30 s" }]);
  });

  test("from however many addresses leaves room for who comes next: the oldest goes", async () => {
    await using world = await setupSsh();
    const addresses = Array.from({ length: MOST_STRANGERS / MOST_STRANGERS_OF_ADDRESS }, (_, n) => `127.0.1.${n + 1}`);
    for (const address of addresses) for (let n = 0; n < MOST_STRANGERS_OF_ADDRESS; n++) await knock(world, address);
    const closed = once(sockets[0]!, "close");
    await using client = await world.logIn();
    await closed;
    expect(sockets.filter(({ destroyed }) => destroyed)).toHaveLength(1);
    expect(client).toBeDefined();
  });

  test("cannot come with any number of connections from one address", async () => {
    await using world = await setupSsh();
    for (let n = 0; n < MOST_STRANGERS_OF_ADDRESS; n++) await knock(world);
    await expect(logIn({ port: world.port, username: "x", privateKey: other.private })).rejects.toThrow();
    sockets[0]!.destroy();
    await world.settle();
    await using client = await world.logIn();
    expect(client).toBeDefined();
  });
});
