/** A forwarded port reaches what listens on the Pod's own loopback, and nothing else. */
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { dialOn } from "../../../tests/ssh-client.ts";
import { type SshWorld, setupSsh } from "../../../tests/ssh-world.ts";
import type { Caller } from "../../kernel/caller.ts";
import type { Grant } from "../../kernel/scope.ts";
import { sshUser } from "../../resources/ssh/logins.ts";
import { LINGER_MS } from "./forward.ts";
import { PodDoor, type PodDoorParts } from "./pod-door.ts";

const hears = (connection: Duplex) =>
  connection.on("data", (data) => connection.write(`heard ${data}`)).on("end", () => connection.end());

async function answerOf(channel: Duplex, said: string): Promise<string> {
  channel.write(said);
  return String((await once(channel, "data"))[0]);
}

test("any port, whether or not the Pod names it, by each name of the Pod itself", async () => {
  await using world = await setupSsh({ pod: { ports: ["8080/http"] } });
  await using client = await world.logIn();
  for (const port of [8080, 45_678]) world.instance.listen(port, hears);
  const names = ["localhost", "LOCALHOST", "ip6-localhost", world.id, sshUser(world.id)];
  const addresses = ["127.0.0.1", "127.3.2.1", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1"];
  for (const host of [...names, ...addresses])
    for (const port of [8080, 45_678]) {
      const channel = await dialOn(client, host, port);
      expect(await answerOf(channel, "this")).toBe("heard this");
      channel.end();
    }
});

describe("is refused with the reason", () => {
  test.each([
    "example.com",
    "localhost.example.com",
    "metadata.google.internal",
    "169.254.169.254",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "10.0.0.1",
    "172.17.0.1",
    "0.0.0.0",
    "::",
    "",
    "127.1",
    "2130706433",
    "0x7f.1",
    "[::1]",
    "fe80::1%lo",
    "127.0.0.1.nip.io",
    "otherpod000000",
  ])("the host %j", async (host) => {
    await using world = await setupSsh({ pod: { ports: ["8080/http"] } });
    world.instance.listen(8080, hears);
    await using client = await world.logIn();
    await expect(dialOn(client, host, 8080)).rejects.toThrow(`only the Pod's own loopback is reached`);
  });

  test("a port where nobody listens, and one that is none", async () => {
    await using world = await setupSsh();
    await using client = await world.logIn();
    await expect(dialOn(client, "localhost", 22)).rejects.toThrow("port 22 of the loopback of");
    await expect(dialOn(client, "localhost", 0)).rejects.toThrow("0 is no port");
    await expect(dialOn(client, "localhost", 70_000)).rejects.toThrow("70000 is no port");
  });

  test("a Pod that does not run", async () => {
    await using world = await setupSsh();
    await using client = await world.logIn();
    await world.act(world.id, "stop");
    await expect(dialOn(client, "localhost", 8080)).rejects.toThrow("EXITED");
  });

  test("a caller who may not run programs in the Pod, before anything is looked for", async () => {
    const door = new PodDoor({} as PodDoorParts);
    for (const grants of [["pods:read"], ["pods:write", "read-only"]] satisfies Grant[][]) {
      const caller: Caller = { account: "a", user: "u", key: "k", grants, exempt: false };
      await expect(door.dial(caller, "pod", { port: 80 })).rejects.toThrow("lacks the scope 'pods:exec'");
    }
  });

  test("a socket of a file", async () => {
    await using world = await setupSsh();
    await using client = await world.logIn({ strictVendor: false });
    const opened = new Promise((_, reject) => client.openssh_forwardOutStreamLocal("/run/docker.sock", reject));
    await expect(opened).rejects.toThrow("sockets of files are not forwarded to here");
  });

  test("more of them than a connection, or an account, may have", async () => {
    await using world = await setupSsh();
    world.instance.listen(9000, hears);
    const refusals: string[] = [];
    const opened: number[] = [];
    await using clients = new AsyncDisposableStack();
    for (const count of [1000, 128, 128, 128, 1]) {
      const client = clients.use(await world.logIn());
      const asked = await passing(
        world,
        Promise.allSettled(Array.from({ length: count }, () => dialOn(client, "localhost", 9000))),
      );
      opened.push(asked.filter(({ status }) => status === "fulfilled").length);
      refusals.push(...asked.flatMap((one) => (one.status === "rejected" ? [String(one.reason.message)] : [])));
    }
    expect(opened).toEqual([128, 128, 128, 128, 0]);
    expect(new Set(refusals).size).toBe(2);
    expect(refusals[0]).toContain("no more than 128 ports can be forwarded to on a connection");
    expect(refusals.at(-1)).toContain("no more than 512 ports can be forwarded to at once by an account");
  });
});

/** The server makes a client wait that asks too fast. This advances the clock until the work is done. */
async function passing<T>(world: SshWorld, work: Promise<T>): Promise<T> {
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  while (!isDone) await world.pass(1);
  return done;
}

test("one that has closed makes room for another", async () => {
  await using world = await setupSsh();
  world.instance.listen(9000, hears);
  await using client = await world.logIn();
  for (let rounds = 0; rounds < 3; rounds++) {
    const open = Array.from({ length: 100 }, () => dialOn(client, "localhost", 9000));
    const channels = await passing(world, Promise.all(open));
    for (const channel of channels) {
      channel.resume();
      channel.end();
    }
    await Promise.all(channels.map((channel) => once(channel, "close")));
  }
});

describe("who has said all may still listen:", () => {
  test("the client", async () => {
    await using world = await setupSsh();
    world.instance.listen(9000, async (connection) => connection.end(`all of ${await text(connection)}`));
    await using client = await world.logIn();
    const channel = await dialOn(client, "localhost", 9000);
    channel.end("this");
    expect(await text(channel)).toBe("all of this");
  });

  test("and what listens in the Pod", async () => {
    await using world = await setupSsh();
    const heard = Promise.withResolvers<string>();
    world.instance.listen(9000, async (connection) => {
      connection.end("first and last");
      heard.resolve(await text(connection));
    });
    await using client = await world.logIn();
    const channel = await dialOn(client, "localhost", 9000);
    let said = "";
    channel.on("data", (data: Buffer) => {
      said += data;
    });
    await once(channel, "end");
    expect(said).toBe("first and last");
    channel.end("and this after it");
    expect(await heard.promise).toBe("and this after it");
  });
});

test("what a client sent before it closed a channel arrives; what is not taken in time is given up", async () => {
  await using world = await setupSsh();
  const connections: Duplex[] = [];
  world.instance.listen(9000, (connection) => connections.push(connection.on("error", () => {})));
  await using client = await world.logIn();
  for (const taken of [true, false]) {
    const channel = await dialOn(client, "localhost", 9000);
    channel.resume().write(Buffer.alloc(500_000));
    channel.destroy();
    await once(channel, "close");
    const connection = connections.pop()!;
    if (taken) expect((await buffer(connection)).length).toBe(500_000);
    else {
      const closed = once(connection, "close");
      await world.clock.advance(LINGER_MS);
      await closed;
    }
    connection.end();
  }
});

test("what listens and goes away closes the channel, and a client that goes away closes what it had", async () => {
  await using world = await setupSsh();
  const connections: Duplex[] = [];
  world.instance.listen(9000, (connection) => connections.push(connection.on("error", () => {})));
  const client = await world.logIn();
  const channel = await dialOn(client, "localhost", 9000);
  const closed = once(channel.resume(), "close");
  connections[0]!.destroy();
  await closed;
  await dialOn(client, "localhost", 9000);
  const gone = once(connections[1]!, "close");
  client.destroy();
  await gone;
  await client[Symbol.asyncDispose]();
});
