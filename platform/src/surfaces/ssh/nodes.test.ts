/** SSH to Pods of other nodes: every node accepts the login, and all have the same host key. */
import { once } from "node:events";
import { expect, test } from "vitest";
import { setupPodNodes, sidesOf } from "../../../tests/pod-nodes.ts";
import { CPU_POD } from "../../../tests/pod-world.ts";
import { dialOn, execOn, logIn, newKeyPair, outcomeOf } from "../../../tests/ssh-client.ts";

test("a command, a port and the loopback are reached through a node that the Pod is not on", async () => {
  await using nodes = await setupPodNodes();
  const pair = newKeyPair();
  await nodes.first.call("PUT", "/v2/account/ssh-keys", { body: { keys: [pair.public] } });
  const { id } = await nodes.first.create({ ...CPU_POD, ports: ["8080/http"] });
  await nodes.first.pass(2);
  const [here, there] = sidesOf(nodes, id);
  const ports = await Promise.all([here, there].map(({ app }) => app.ssh.open("127.0.0.1", [0])));
  const [instance] = here.running();
  instance!.onExec = (program) => {
    void program.write("from there");
    program.end({ code: 5 });
  };
  for (const port of [8080, 45_678]) instance!.listen(port, (connection) => connection.end("hello"));
  const { username } = (await there.pod(id)).ssh.proxy;
  const hostKeys: string[] = [];
  const hostVerifier = (key: Buffer) => hostKeys.push(key.toString("hex")) > 0;
  for (const port of ports) {
    await using client = await logIn({ port, username, privateKey: pair.private, hostVerifier });
    expect(await outcomeOf(await execOn(client, "true"))).toMatchObject({ out: "from there", code: 5 });
    for (const host of ["localhost", "127.0.0.1", "::1"])
      for (const to of [8080, 45_678]) {
        const channel = await dialOn(client, host, to);
        expect(String((await once(channel, "data"))[0])).toBe("hello");
      }
    await expect(dialOn(client, "localhost", 22)).rejects.toThrow("port 22 of the loopback of");
  }
  expect(hostKeys[0]).toBe(hostKeys[1]);
});
