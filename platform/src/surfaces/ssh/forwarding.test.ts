/** What is reached through a forwarded port. */
import { once } from "node:events";
import type { Duplex } from "node:stream";
import type { Client } from "ssh2";
import { expect, test } from "vitest";
import { setupSsh } from "../../../tests/ssh-world.ts";

const dial = (client: Client, host: string, port: number) =>
  new Promise<Duplex>((resolve, reject) =>
    client.forwardOut("127.0.0.1", 1, host, port, (error, channel) => (error ? reject(error) : resolve(channel))),
  );

test("a port that the Pod names, as localhost, both ways", async () => {
  await using world = await setupSsh({ pod: { ports: ["8080/http"] } });
  world.instance.listen(8080, (connection) => connection.on("data", (data) => connection.write(`heard ${data}`)));
  await using client = await world.logIn();
  for (const host of ["localhost", "127.0.0.1", world.id]) {
    const channel = await dial(client, host, 8080);
    channel.write("this");
    expect(String((await once(channel, "data"))[0])).toBe("heard this");
    channel.end();
  }
});

test("and nothing else: no other port or host, and no Pod that does not run", async () => {
  await using world = await setupSsh({ pod: { ports: ["8080/http"] } });
  await using client = await world.logIn();
  await expect(dial(client, "localhost", 22)).rejects.toThrow(
    "port 22 is none of those that the Pod names (8080/http)",
  );
  for (const host of ["example.com", "169.254.169.254", "10.0.0.1", "0.0.0.0"])
    await expect(dial(client, host, 8080)).rejects.toThrow("only the Pod's own ports are reached");
  await expect(dial(client, "localhost", 8080)).rejects.toThrow("8080");
  await world.act(world.id, "stop");
  await expect(dial(client, "localhost", 8080)).rejects.toThrow("EXITED");
});
