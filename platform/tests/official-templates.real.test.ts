/** Official templates that run from this machine's own files, on a real server. */
import { expect, test } from "vitest";
import { serverPlace } from "./worker-place.ts";

test("endpoints from them answer: a handler by the queue, the chat server by the load balancer", async ({
  onTestFailed,
}) => {
  await using at = await serverPlace({ program: { cmd: [] }, onFailure: onTestFailed });
  const create = async (body: object) => (await at.call("POST", "/v2/serverless", body)).json.id as string;
  const echo = await create({ templateId: "millrace-echo" });
  const ran = await at.call("POST", `/v2/${echo}/runsync`, { input: { a: 1 } });
  expect(ran.json).toMatchObject({ status: "COMPLETED", output: { a: 1 } });
  const chat = await create({ templateId: "millrace-openai-balanced", type: "LOAD_BALANCER" });
  const messages = [{ role: "user", content: "hello" }];
  const { json } = await at.call("POST", `/v2/${chat}/v1/chat/completions`, { messages });
  expect(json.choices[0].message.content).toBe("You said: hello");
});
