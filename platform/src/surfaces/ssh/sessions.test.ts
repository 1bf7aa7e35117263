/** What people do in their Pods over SSH. */
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { CPU_POD } from "../../../tests/pod-world.ts";
import { execOn, newKeyPair, outcomeOf, shellOn } from "../../../tests/ssh-client.ts";
import { setupSsh } from "../../../tests/ssh-world.ts";
import type { FakeExecution } from "../../ports/compute/fake-execution.ts";

const COMMAND_AT = 4;

test("a command has its input, its two outputs apart, and its exit code", async () => {
  await using world = await setupSsh();
  world.plays(async (program) => {
    const input = await text(program.input);
    await program.write(`got ${input}`);
    await program.write("wrong", "stderr");
    program.end({ code: 7 });
  });
  await using client = await world.logIn();
  const channel = await execOn(client, "cat");
  channel.end("this");
  expect(await outcomeOf(channel)).toEqual({ out: "got this", errors: "wrong", code: 7, signal: undefined });
});

test("it is run by the shell of the image, with the variables that the client sends and how it is reached", async () => {
  await using world = await setupSsh();
  const ran = Promise.withResolvers<FakeExecution>();
  world.plays((program) => {
    ran.resolve(program);
    program.end({ code: 0 });
  });
  await using client = await world.logIn();
  await outcomeOf(await execOn(client, "echo $A", { env: { A: "1", "no-name": "x" } as never }));
  const { cmd, env, terminal } = (await ran.promise).spec;
  expect([cmd[0], cmd[COMMAND_AT], terminal]).toEqual(["sh", "echo $A", undefined]);
  expect(env).toEqual({ A: "1", SSH_CONNECTION: expect.stringMatching(/^127/), SSH_CLIENT: expect.any(String) });
});

test("a program that a signal ended says so; a client may send one", async () => {
  await using world = await setupSsh();
  await using client = await world.logIn();
  const channel = await execOn(client, "sleep 100");
  const outcome = outcomeOf(channel);
  world.plays((program) => floatUp(program));
  const second = await execOn(client, "sleep 100");
  await once(second, "data");
  second.signal("TERM");
  expect(await outcomeOf(second)).toMatchObject({ code: null, signal: "SIGTERM" });
  expect(await outcome).toMatchObject({ code: 255 });
});

test("where the driver sends no signals, one from a client is nothing, and the program ends with its session", async () => {
  await using world = await setupSsh({ machine: { can: { execSignals: false } } });
  const played = Promise.withResolvers<FakeExecution>();
  world.plays((program) => {
    played.resolve(program);
    floatUp(program);
  });
  await using client = await world.logIn();
  const channel = await execOn(client, "sleep 100");
  await once(channel, "data");
  const program = await played.promise;
  const heard: string[] = [];
  program.onSignal = (name) => heard.push(name);
  channel.signal("TERM");
  channel.write("still there");
  expect(String((await once(program.input, "data"))[0])).toBe("still there");
  expect(heard).toEqual([]);
  client.end();
  expect(await program.exit).toMatchObject({ signal: "SIGHUP" });
});

const floatUp = (program: FakeExecution) => void program.write("up");

test("a shell has a terminal of the client's size, also when that changes, and ends with its client", async () => {
  await using world = await setupSsh();
  const played = Promise.withResolvers<FakeExecution>();
  world.plays((program) => {
    played.resolve(program);
    program.onResize = ({ columns, rows }) => void program.write(`${columns}x${rows}`);
    void program.write("$ ");
  });
  await using client = await world.logIn();
  const channel = await shellOn(client);
  const program = await played.promise;
  expect(program.spec).toMatchObject({ terminal: { columns: 100, rows: 30 }, env: { TERM: "xterm" } });
  expect(String((await once(channel, "data"))[0])).toBe("$ ");
  channel.setWindow(40, 120, 0, 0);
  expect(String((await once(channel, "data"))[0])).toBe("120x40");
  client.end();
  expect(await program.exit).toMatchObject({ signal: "SIGHUP" });
});

test("a client that does not read stops the program, and one that sends what nobody reads is stopped", async () => {
  await using world = await setupSsh();
  const piece = Buffer.alloc(65_536);
  let written = 0;
  world.plays(async (program) => {
    for (; written < 1000; written++) await program.write(piece);
  });
  await using client = await world.logIn();
  const channel = await execOn(client, "yes");
  channel.pause();
  expect(await steady(world, () => written)).toBeLessThan(200);
  let sent = 0;
  while (!channel.writableNeedDrain && sent++ < 1000)
    if (!channel.write(piece)) await steady(world, () => channel.writableLength);
  expect(sent).toBeLessThan(200);
});

/** Bytes in transit between two sockets cannot be seen. They count as arrived when a value stays the same for a while. */
async function steady(world: { settle(): Promise<void> }, read: () => number): Promise<number> {
  for (let same = 0, last = read(); same < 50; last = read()) {
    await world.settle();
    same = read() === last ? same + 1 : 0;
  }
  return read();
}

describe("is refused with words and 255", () => {
  const refused = async (world: Awaited<ReturnType<typeof setupSsh>>) => {
    await using client = await world.logIn();
    return outcomeOf(await execOn(client, "true"));
  };

  test("in a Pod that does not run", async () => {
    await using world = await setupSsh();
    await world.act(world.id, "stop");
    const { code, errors } = await refused(world);
    expect([code, errors]).toEqual([255, `millrace: Pod ${world.id} is EXITED: stopped by its owner.\r\n`]);
  });

  test("where the image has no shell", async () => {
    await using world = await setupSsh();
    const { code, errors } = await refused(world);
    expect([code, errors]).toEqual([255, expect.stringContaining("has no shell")]);
  });

  test("and a command that is not there ends as it does in a shell", async () => {
    await using world = await setupSsh();
    world.plays((program) => program.end({ code: program.spec.cmd.length > COMMAND_AT ? 127 : 0 }));
    expect((await refused(world)).code).toBe(127);
  });

  test("with scp of the old kind it is said what to do where the image has none", async () => {
    await using world = await setupSsh();
    world.plays((program) => program.end({ code: program.spec.cmd.length > COMMAND_AT ? 127 : 0 }));
    await using client = await world.logIn();
    const { code, errors } = await outcomeOf(await execOn(client, "scp -t /tmp"));
    expect([code, errors]).toEqual([127, expect.stringContaining("without -O")]);
  });
});

describe("a session ends with the reason", () => {
  const stays = async () => {
    const world = await setupSsh();
    world.plays((program) => floatUp(program));
    const client = await world.logIn();
    const channel = await execOn(client, "sleep");
    await once(channel, "data");
    return { world, client, outcome: outcomeOf(channel) };
  };

  test("when its Pod is stopped, and so does the connection", async () => {
    const { world, client, outcome } = await stays();
    await using _ = world;
    let isClosed = false;
    client.once("close", () => {
      isClosed = true;
    });
    await world.act(world.id, "stop");
    expect(await outcome).toMatchObject({ code: 255, errors: expect.stringContaining("stopped by its owner") });
    while (!isClosed) await world.pass(1);
  });

  test("when its Pod is terminated", async () => {
    const { world, outcome } = await stays();
    await using _ = world;
    await world.act(world.id, "terminate");
    expect(await outcome).toMatchObject({ code: 255, errors: expect.stringContaining(`Pod ${world.id} is gone`) });
  });

  test("when its account is removed", async () => {
    await using world = await setupSsh();
    const key = await world.strangersKey();
    const pair = newKeyPair();
    await world.call("PUT", "/v2/account/ssh-keys", { key, body: { keys: [pair.public] } });
    const { id } = (await world.call("POST", "/v2/pods", { key, body: CPU_POD })).json;
    await world.settle();
    const { username } = (await world.call("GET", `/v2/pods/${id}`, { key })).json.ssh.proxy;
    for (const instance of world.running()) instance.onExec = floatUp;
    await using client = await world.logIn({ username, privateKey: pair.private });
    const channel = await execOn(client, "sleep");
    await once(channel, "data");
    let isClosed = false;
    client.once("close", () => {
      isClosed = true;
    });
    const outcome = outcomeOf(channel);
    await world.services.accounts.delete("stranger");
    while (!isClosed) await world.pass(1);
    expect(await outcome).toMatchObject({ code: 255, errors: expect.stringContaining(`Pod ${id} is`) });
    await expect(world.logIn({ username, privateKey: pair.private, readyTimeout: 500 })).rejects.toThrow();
  });

  test("when the server ends, which waits for nobody", async () => {
    const { world, outcome } = await stays();
    await world[Symbol.asyncDispose]();
    expect(await outcome).toMatchObject({ code: 255, errors: "millrace: the server ends\r\n" });
  });
});

test("no more sessions are open on a connection than may be", async () => {
  await using world = await setupSsh();
  world.plays((program) => floatUp(program));
  await using client = await world.logIn();
  await Promise.all(Array.from({ length: 16 }, () => execOn(client, "sleep")));
  await expect(execOn(client, "sleep")).rejects.toThrow("no more than 16 sessions");
});

test("remote forwarding and X11 are refused, and the next session says so", async () => {
  await using world = await setupSsh();
  world.plays((program) => program.end({ code: 0 }));
  await using client = await world.logIn();
  const forwarded = new Promise((resolve) => client.forwardIn("", 8080, (error) => resolve(error)));
  expect(await forwarded).toBeInstanceOf(Error);
  await expect(execOn(client, "true", { x11: true })).rejects.toThrow();
  const { errors } = await outcomeOf(await execOn(client, "true"));
  expect(errors).toContain("X11 forwarding (-X, -Y) is not offered here");
  expect(errors).toContain("remote forwarding (-R) is not offered here");
});
