/** The history of metrics as REST v2 says it. */
import { parseTimestamp, timestamp } from "../../kernel/clock.ts";
import type { Handlers } from "../../kernel/operation.ts";
import type { Range } from "./model.ts";
import type { historyOperations } from "./operations.ts";
import type { History, HistoryAsked, HistoryService } from "./service.ts";

export const historyHandlers = (service: HistoryService): Handlers<typeof historyOperations> => ({
  getEndpointMetricsHistory: async ({ caller, params, query }) =>
    shown(await service.ofEndpoint(caller, params.id!, asked(query))),
  getPodMetricsHistory: async ({ caller, params, query }) =>
    shown(await service.ofPod(caller, params.id!, asked(query))),
  getAccountMetricsHistory: async ({ caller, query }) => shown(await service.ofAccount(caller, asked(query))),
});

const asked = ({ range = "1h", end }: { range?: Range; end?: string }): HistoryAsked => ({
  range,
  end: end === undefined ? undefined : parseTimestamp(end),
});

const shown = ({ range, start, end, stepMs, series }: History) => ({
  ...{ range, start: timestamp(start), end: timestamp(end), step: stepMs / 1000 },
  series,
});
