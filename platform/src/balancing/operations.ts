/** Calls of load-balancing endpoints, which go to a worker unchanged. */
import type { RawOperations } from "../kernel/raw-operation.ts";
import { t } from "../kernel/schema.ts";

const anything = { "*/*": { schema: t.Unknown() } };

export const balancingOperations = {
  callWorker: {
    method: "GET",
    alsoBy: ["POST", "PUT", "PATCH", "DELETE"],
    path: "/v2/{endpoint_id}/{path*}",
    summary: "Ask a worker of a load-balancing endpoint",
    description:
      "The path behind the endpoint's id, the query, the headers but the key, and the body, up to 30 MB, go to a worker as they are, and its answer comes back " +
      "likewise. WebSockets are carried too, and every other method. Where the server has a domain, `<endpoint id>.<domain>/{path}` leads to the same. A path of a queue-based endpoint has no meaning here: all of " +
      "them are the worker's.",
    tag: "Load balancing",
    headers: t.Object({
      "X-Millrace-Worker-Id": t.Optional(
        t.String({ maxLength: 512, description: "A worker to prefer, as an earlier answer named it." }),
      ),
    }),
    body: { content: anything, required: false },
    answers: {
      200: {
        description: "Whatever the worker answers, with its own status.",
        content: anything,
        headers: { "X-Millrace-Worker-Id": "The worker that answered." },
      },
    },
    refuses: [400, 404, 413, 502, 503, 504],
    key: "caller",
    scope: "serverless:invoke",
  },
} as const satisfies RawOperations;
