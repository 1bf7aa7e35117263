/** Answers that stream: a client that hangs up is nobody's fault, whenever it does so. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, test } from "vitest";
import { sendText } from "./bytes.ts";
import { Reply, type Request } from "./reply.ts";

/** Sends the pieces of a text to a client that hangs up before the given piece is made. Resolves with how many pieces were asked for. */
async function sentUntil(hangsUpBefore: number): Promise<number> {
  let asked = 0;
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const server = createServer((request, response) => {
    sendText(request as Request, new Reply(response), { headers: {}, read: () => pieces(response) }).then(
      resolve,
      resolve,
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1", () =>
    client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
  );
  client.on("error", () => undefined);
  const failed = await promise;
  server.close();
  if (failed instanceof Error) throw failed;
  return asked;

  async function* pieces(response: ServerResponse) {
    for (;;) {
      if (asked++ === hangsUpBefore) {
        client.destroy();
        await once(response, "close");
      }
      yield "piece";
    }
  }
}

test("a client that hangs up while the first piece is made gets no more, and the server has no fault to report", async () => {
  expect(await sentUntil(0)).toBe(1);
});

test("a client that hangs up later gets no more either", async () => {
  expect(await sentUntil(3)).toBeLessThan(6);
});
