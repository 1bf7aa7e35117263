/** Serves the metrics: at `/metrics` for whoever may read them, and without a key on a port of its own. */
import { createServer, type Server } from "node:http";
import { requireOperation } from "../../guards/scopes.ts";
import type { Clock } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import type { Log } from "../../kernel/log.ts";
import { problem } from "../../kernel/problem.ts";
import type { Pipeline } from "../http/pipeline.ts";
import { Reply } from "../http/reply.ts";
import type { Router } from "../http/router.ts";
import { survive } from "../http/server.ts";
import type { Surface } from "../http/surface.ts";
import type { Metrics } from "./metrics.ts";
import { Scrapers } from "./scrapers.ts";
import { METRICS_TYPE } from "./text.ts";

const METRICS_PATH = "/metrics";

/** A key that may only read metrics is enough, of the installation's first account. */
const READING = { scope: "installation:metrics", narrowed: "refused" } as const;

export interface MetricsRouteParts {
  pipeline: Pipeline;
  surface: Surface;
  metrics: Metrics;
  /** Whether the account is the installation's first. */
  isFirst: (account: string) => Promise<boolean>;
  clock: Clock;
}

export function mountMetrics(router: Router, { pipeline, surface, metrics, isFirst, clock }: MetricsRouteParts): void {
  // A scrape must not fail because the operator's key made many requests, and each second has one at most.
  const scrapers = new Scrapers({ clock, authenticate: (request) => surface.authenticate(request) });
  const authenticate: Surface["authenticate"] = (request) => scrapers.authenticate(request);
  const unlimited: Surface = { ...surface, authenticate, limited: false, logged: false };
  router.add(["GET"], METRICS_PATH, (request, reply) =>
    pipeline.answer(unlimited, request, reply, async (caller) => {
      requireOperation(caller, READING);
      if (!scrapers.has(caller) && !(await isFirst(caller.account)))
        throw problem("not-allowed", "Only keys of the installation's first account may read its metrics.", {
          reason: "owner-only",
        });
      scrapers.note(request, caller);
      return reply
        .header("Cache-Control", "no-store")
        .type(METRICS_TYPE)
        .send(await metrics.text());
    }),
  );
  pipeline.refuseOthers(router, unlimited, [{ path: METRICS_PATH, methods: ["GET"] }]);
}

const MOST_CONNECTIONS = 16;
const SLOWEST_MS = 10_000;
const MOST_HEADER_BYTES = 8192;

/** A server that answers nothing but scrapes. */
export function metricsServer(metrics: Metrics, log: Log): Server {
  const limits = { headersTimeout: SLOWEST_MS, requestTimeout: SLOWEST_MS, maxHeaderSize: MOST_HEADER_BYTES };
  const server = createServer({ ...limits, connectionsCheckingInterval: SLOWEST_MS }, (request, response) => {
    // A client that leaves is no failure.
    response.on("error", () => {});
    const isScrape = request.method === "GET" && request.url?.split("?", 1)[0] === METRICS_PATH;
    const reply = new Reply(response);
    if (!isScrape) {
      reply.code(404).header("Connection", "close").send();
      return;
    }
    floating(
      metrics.text().then((text) => reply.type(METRICS_TYPE).send(text)),
      (error) => {
        log.error({ err: error }, "the metrics could not be gathered");
        reply.code(500).send();
      },
    );
  });
  server.maxConnections = MOST_CONNECTIONS;
  survive(server, log);
  return server;
}
