/** What every Compute guarantees about connections to an instance's own loopback. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, test } from "vitest";
import type { Compute } from "./compute.ts";
import { linesOf, needs, type OpenedCompute, openWorld } from "./conformance-world.ts";
import { dialLoopback } from "./dial-loopback.ts";
import type { LoopbackTarget } from "./loopback.ts";

/** Each test gets a port of its own, since some drivers share the machine's network and tests run in parallel. */
const ports = (function* () {
  for (let port = 31_000 + (process.pid % 1_000); ; port += 7) yield port;
})();
const newPort = () => ports.next().value;

/** The program listens only on the loopback, like programs that are not meant for outsiders. */
const INSIDE = { env: { LISTEN_HOST: "127.0.0.1" } };

async function echo(compute: Compute, id: string, target: LoopbackTarget, text: string): Promise<string> {
  const connection = await dialLoopback(compute, id, target);
  connection.write(text);
  const [answer] = await once(connection, "data");
  connection.destroy();
  return String(answer);
}

export function loopbackConformance(name: string, open: () => Promise<OpenedCompute>): void {
  describe.concurrent(`${name} reaches the loopback of an instance`, () => {
    test("at a port that it does not name, in the next process of the server too", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "loopback");
      const port = newPort();
      const id = await world.start([{ echoOn: port }], INSIDE);
      await linesOf(world.compute, id, { limit: 1 });
      for (const target of [{ port }, { port, host: "127.0.0.1" }])
        expect(await echo(world.compute, id, target, "hello")).toBe("hello");
      await expect(world.compute.dial(id, port)).rejects.toThrow(String(port));
      expect(await echo(await world.reopen(), id, { port }, "again")).toBe("again");
    });

    test("many times at once", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "loopback");
      const port = newPort();
      const id = await world.start([{ echoOn: port }], INSIDE);
      await linesOf(world.compute, id, { limit: 1 });
      const texts = Array.from({ length: 50 }, (_, n) => `text ${n}`);
      const answers = await Promise.all(texts.map((text) => echo(world.compute, id, { port }, text)));
      expect(answers).toEqual(texts);
    });

    test("and not that of another one with the same port", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "loopback");
      if (!world.compute.facts.ownNetwork) return context.skip("instances share the machine's network");
      const port = newPort();
      const [one, two] = [await world.start([{ echoOn: port }], INSIDE), await world.start([{ stayUntilAsked: 0 }])];
      await linesOf(world.compute, one, { limit: 1 });
      expect(await echo(world.compute, one, { port }, "hello")).toBe("hello");
      await expect(dialLoopback(world.compute, two, { port })).rejects.toThrow(String(port));
    });

    test("and not the machine's own", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "loopback");
      const machine = createServer((socket) => socket.end("the machine's"));
      await once(machine.listen(0, "127.0.0.1"), "listening");
      const { port } = machine.address() as AddressInfo;
      const id = await world.start([{ write: "up\n" }, { stayUntilAsked: 0 }]);
      await linesOf(world.compute, id, { limit: 1 });
      await expect(dialLoopback(world.compute, id, { port })).rejects.toThrow(String(port));
      machine.close();
    });

    test("after it was started again", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "loopback");
      needs(context, world.compute, "again");
      const port = newPort();
      const spec = world.spec([{ echoOn: port }], { ...INSIDE, ...(await world.repeatable()) });
      const id = world.id();
      await world.compute.start(id, spec);
      const { at } = await linesOf(world.compute, id, { limit: 1 });
      expect(await echo(world.compute, id, { port }, "first")).toBe("first");
      await world.compute.stop(id, 10_000);
      await expect(dialLoopback(world.compute, id, { port })).rejects.toThrow(id);
      await world.compute.again!.start(id, spec);
      await linesOf(world.compute, id, { limit: 1, after: at });
      expect(await echo(world.compute, id, { port }, "second")).toBe("second");
    });

    test("or rejects with the reason: nobody listens, no instance, and what is no address of a loopback", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "loopback");
      const { compute } = world;
      const port = newPort();
      const id = await world.start([{ write: "up\n" }, { stayUntilAsked: 0 }], { ports: [port] });
      await linesOf(world.compute, id, { limit: 1 });
      await expect(dialLoopback(compute, id, { port })).rejects.toThrow(`port ${port} of the loopback of ${id}`);
      await expect(dialLoopback(compute, "unknown", { port })).rejects.toThrow("no instance unknown");
      for (const host of ["169.254.169.254", "0.0.0.0", "localhost", "::ffff:10.0.0.1"])
        await expect(dialLoopback(compute, id, { port, host })).rejects.toThrow("no address of a loopback");
      await expect(dialLoopback(compute, id, { port: 0 })).rejects.toThrow("no port");
    });
  });
}
