/** Serves OpenAI's chat API with a model that repeats its input, for trying clients without a GPU. */
import { createHash } from "node:crypto";
import type { Server, ServerResponse } from "node:http";
import { jsonOf, openSite, page, Refused, sendJson } from "./site.ts";

export const MODEL = "millrace-echo";

interface Asked {
  model?: unknown;
  messages?: unknown;
  stream?: unknown;
}

const PAGE = page(
  "OpenAI-compatible server",
  `<h1>OpenAI-compatible server</h1><p>Model <code>${MODEL}</code>, which says back what it was told.</p>
<pre>curl URL/v1/chat/completions -H "Content-Type: application/json" \\
  -d '{"model": "${MODEL}", "messages": [{"role": "user", "content": "hello"}]}'</pre>`,
);

/** The same messages always get the same answer. */
function answerTo({ model = MODEL, messages }: Asked) {
  if (model !== MODEL) throw new Refused(404, `There is no model '${model}'; there is '${MODEL}'.`);
  if (!Array.isArray(messages) || messages.length === 0)
    throw new Refused(400, "'messages' must be a list of messages.");
  const texts = messages.map(textOf);
  const content = `You said: ${texts.at(-1)}`;
  const id = `chatcmpl-${createHash("sha256").update(JSON.stringify(messages)).digest("hex").slice(0, 24)}`;
  const [prompt, completion] = [wordsIn(texts.join(" ")).length, wordsIn(content).length];
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  return { id, content, usage };
}

/** A message is a text, or a list of parts, some of which are texts. */
function textOf(message: unknown): string {
  const { content } = (message ?? {}) as { content?: unknown };
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw new Refused(400, "'content' of a message must be a text or a list of parts.");
  return content.map((part) => (part as { text?: string } | null)?.text ?? "").join("");
}

const wordsIn = (text: string): string[] => text.match(/\S+\s*/g) ?? [];

function stream(response: ServerResponse, { id, content }: ReturnType<typeof answerTo>): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  const send = (delta: object, finish_reason: string | null) => {
    const choices = [{ index: 0, delta, finish_reason }];
    const chunk = { id, object: "chat.completion.chunk", created: 0, model: MODEL, choices };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  send({ role: "assistant", content: "" }, null);
  for (const word of wordsIn(content)) send({ content: word }, null);
  send({}, "stop");
  response.end("data: [DONE]\n\n");
}

export function openChatServer(key?: string): Server {
  return openSite({
    password: key,
    open: {
      "GET /": PAGE,
      // A load balancer asks here whether the server is healthy.
      "GET /ping": (_, response) => sendJson(response, { status: "ok" }),
    },
    guarded: {
      "GET /v1/models": (_, response) => {
        const model = { id: MODEL, object: "model", created: 0, owned_by: "millrace" };
        sendJson(response, { object: "list", data: [model] });
      },
      "POST /v1/chat/completions": async (request, response) => {
        const asked = await jsonOf<Asked | null>(request);
        const answer = answerTo(asked ?? {});
        if (asked?.stream === true) return stream(response, answer);
        const message = { role: "assistant", content: answer.content };
        const choices = [{ index: 0, message, finish_reason: "stop" }];
        const { id, usage } = answer;
        sendJson(response, { id, object: "chat.completion", created: 0, model: MODEL, choices, usage });
      },
    },
  });
}

if (import.meta.main) {
  const port = Number(process.env.PORT ?? 8000);
  openChatServer(process.env.OPENAI_API_KEY).listen(port, () => console.log(`a chat server at port ${port}`));
}
