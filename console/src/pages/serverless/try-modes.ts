/** The ways in which Try it calls an endpoint, and the body that it begins with. */
export type RunMode = "run" | "wait" | "chat" | "http";

export const MODES: Record<RunMode, { label: string; about: string }> = {
  run: { label: "Run", about: "Submits a job and shows it as it goes on. Its result is kept for 30 minutes." },
  wait: { label: "Run and wait", about: "One request that is answered when the job has ended." },
  chat: { label: "OpenAI chat", about: "For workers that answer OpenAI requests, as vLLM workers do." },
  http: { label: "HTTP request", about: "Goes to a worker as it is, and the worker's answer comes back." },
};

export const modesOf = (type: string | undefined): RunMode[] =>
  type === "LOAD_BALANCER" ? ["http"] : ["run", "wait", "chat"];

const EXAMPLE = { input: { prompt: "Hello" } };
const CHAT = { model: "MODEL", messages: [{ role: "user", content: "Hello" }], stream: true };
/** A longer input is a burden for the editor, and nobody edits it there. */
const LONGEST_INPUT = 50_000;

interface Asked {
  input?: unknown;
  policy?: unknown;
}

/** The body of the last job where there was one: a real one teaches more than an example. */
export function firstBody(mode: RunMode, last: Asked | undefined): string {
  if (mode === "http") return "";
  if (mode === "chat") {
    const asked = (last?.input as { openai_input?: unknown } | undefined)?.openai_input;
    return pretty(asked ?? CHAT);
  }
  const input = last?.input;
  if (input === undefined || isOpenAi(input)) return pretty(EXAMPLE);
  const text = pretty({ input });
  return text.length > LONGEST_INPUT ? pretty(EXAMPLE) : text;
}

const isOpenAi = (input: unknown) =>
  typeof input === "object" && input !== null && "openai_route" in input && "openai_input" in input;

const pretty = (value: unknown) => JSON.stringify(value, null, 2);

/** What is wrong with a body before it is sent, in words for its author. */
export function faultOf(mode: RunMode, body: string): string | undefined {
  if (mode === "http" && body.trim() === "") return undefined;
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (error) {
    return `The body is not JSON: ${(error as Error).message}`;
  }
  if (mode === "http") return undefined;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "The body must be a JSON object.";
  if (mode === "chat") return undefined;
  const { input } = value as Asked;
  if (typeof input !== "object" || input === null || Array.isArray(input))
    return 'The body needs an "input" that is a JSON object.';
  return undefined;
}

/** The text that a chat completion has said so far, from the lines of its stream or from its whole answer. */
export function chatText(raw: string): string {
  const parts = raw.trimStart().startsWith("{") ? [raw] : raw.split("\n").flatMap(dataOf);
  return parts.map(saidIn).join("");
}

function dataOf(line: string): string[] {
  if (!line.startsWith("data:")) return [];
  const data = line.slice(5).trim();
  return data === "[DONE]" || data === "" ? [] : [data];
}

interface Completion {
  choices?: { delta?: { content?: string | null }; message?: { content?: string | null }; text?: string }[];
}

function saidIn(json: string): string {
  try {
    const [choice] = (JSON.parse(json) as Completion).choices ?? [];
    return choice?.delta?.content ?? choice?.message?.content ?? choice?.text ?? "";
  } catch {
    return "";
  }
}
