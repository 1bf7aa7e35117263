/** Answers OpenAI's chat API through the queue, with a model that repeats what it is told. */
import { start } from "millrace-worker";

const model = process.env.MODEL_NAME || "repeater";
const prefix = process.env.PREFIX ?? "You said: ";

interface Chat {
  messages?: { content?: unknown }[];
  stream?: boolean;
}

interface Input {
  openai_route?: string;
  openai_input?: Chat;
  prompt?: string;
}

const lastOf = ({ messages = [] }: Chat) => String(messages.at(-1)?.content ?? "");
const wordsIn = (text: string): string[] => text.match(/\S+\s*/g) ?? [];

function answerTo(chat: Chat) {
  const content = prefix + lastOf(chat);
  const prompt = wordsIn((chat.messages ?? []).map(({ content }) => String(content ?? "")).join(" ")).length;
  const completion = wordsIn(content).length;
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
  return { id: "chatcmpl-1", object: "chat.completion", created: 0, model, choices, usage };
}

async function* chunksOf(chat: Chat) {
  const chunk = (delta: object, finish_reason: string | null) => {
    const choices = [{ index: 0, delta, finish_reason }];
    const body = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 0, model, choices };
    return `data: ${JSON.stringify(body)}\n\n`;
  };
  yield chunk({ role: "assistant", content: "" }, null);
  for (const word of wordsIn(prefix + lastOf(chat))) yield chunk({ content: word }, null);
  yield chunk({}, "stop");
  yield "data: [DONE]\n\n";
}

start<Input>({
  handler({ input }) {
    const { openai_route: route = "", openai_input: chat = {}, prompt } = input;
    if (route.startsWith("/v1/models"))
      return { object: "list", data: [{ id: model, object: "model", created: 0, owned_by: "millrace" }] };
    if (route.startsWith("/v1/chat/completions")) return chat.stream ? chunksOf(chat) : answerTo(chat);
    if (route !== "") return { error: `this worker does not know ${route}` };
    return answerTo({ messages: [{ content: prompt ?? "" }] });
  },
});
