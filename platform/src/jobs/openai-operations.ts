/** The OpenAI-compatible route of an endpoint. A request becomes a job, and the job's stream becomes the answer. */
import { EVENT_MEDIA, inJson, type RawOperations } from "../kernel/raw-operation.ts";
import { t } from "../kernel/schema.ts";
import { open } from "./model.ts";

const OpenAiFailure = t.Object(
  {
    error: t.Object({
      message: t.String({ description: "What the worker failed with, or that none answered in time." }),
      type: t.String(),
      code: t.Null(),
    }),
  },
  { $id: "OpenAiFailure" },
);

const failed = (description: string) => ({
  description,
  content: inJson(OpenAiFailure, { error: { message: "no such model", type: "worker_error", code: null } }),
});

const CHAT = { model: "small", messages: [{ role: "user", content: "hello" }] };
const ANSWER = { choices: [{ index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" }] };

export const openAiOperations = {
  callOpenAi: {
    method: "POST",
    alsoBy: ["GET"],
    path: "/v2/{endpoint_id}/openai/{path*}",
    summary: "Ask a worker in the words of OpenAI's API",
    description:
      "Whatever follows `/openai` becomes `openai_route` of the job's input, and the body its `openai_input`: `/v1/chat/completions`, " +
      "`/v1/completions`, `/v1/models` and whatever else the worker understands. With `stream: true` the answer is what the worker streams. A client that hangs " +
      "up cancels the job. A body may have 20 MB by default.",
    tag: "OpenAI",
    body: {
      content: inJson(open({ stream: t.Optional(t.Boolean()) }, { description: "As the worker reads it." }), CHAT),
      required: false,
    },
    answers: {
      200: {
        description: "The worker's answer.",
        content: { ...inJson(t.Unknown(), ANSWER), [EVENT_MEDIA]: { schema: t.String() } },
        headers: { "X-Job-Id": "The id of the job that it became." },
      },
      500: failed("What the worker failed with, unless it says another status itself."),
      504: failed("No worker answered within the endpoint's execution timeout."),
    },
    refuses: [400, 404, 413],
    key: "caller",
    scope: "serverless:invoke",
    guests: true,
  },
} as const satisfies RawOperations;
