/** The job engine and its parts: worker desk, batches, results, streams and webhooks. */
import { Engine } from "../jobs/engine.ts";
import { workerOf } from "../jobs/holder.ts";
import { Outputs } from "../jobs/outputs.ts";
import type { Apartness } from "../jobs/own-workers.ts";
import { recordPieces } from "../jobs/record.ts";
import { Streams } from "../jobs/stream.ts";
import { Sweeper } from "../jobs/sweeper.ts";
import { JobTally } from "../jobs/tally.ts";
import { nobodyWarmsUp } from "../jobs/warm-up.ts";
import { Webhooks } from "../jobs/webhooks.ts";
import { WorkerDesk } from "../jobs/worker-desk.ts";
import { BatchProgress } from "../resources/batches/progress.ts";
import { BatchService } from "../resources/batches/service.ts";
import { EndpointBook } from "../resources/workers/running/endpoint-book.ts";
import { FleetWarmUps } from "../resources/workers/running/warm-ups.ts";
import type { Bells } from "./bells.ts";
import type { Front } from "./front.ts";
import type { Ground } from "./ground.ts";
import type { Roll } from "./roll.ts";
import type { Services } from "./services.ts";

export type Jobs = ReturnType<typeof openJobs>;

export function openJobs(ground: Ground, services: Services, bells: Bells, { isKept }: Roll, { large, memory }: Front) {
  const { clock, queue, failed, settings } = ground;
  const { endpoints, workerRecords, batchRecords } = services;
  services.charges.readFrom(queue);
  const tally = new JobTally(ground.instruments.jobs);
  const engine = new Engine({ ...ground, wanted: bells.wanted.ring, tally, retention: settings.resultMinutes });
  const book = new EndpointBook({ endpoints, clock });
  const endpoint = (id: string) => book.find(id);
  const warmUps = new FleetWarmUps({ records: workerRecords, clock, endpoint, act: bells.toDo.ring });
  const told = { events: bells.news, warmUps: isKept ? warmUps : nobodyWarmsUp };
  const isShared = (id: string) => endpoints.isShared(id);
  const apart: Apartness = {
    apartSince: (id) => endpoints.apartSince(id),
    startedAt: async (holder) => (await workerRecords.find(workerOf(holder)))?.createdAt,
  };
  const desk = new WorkerDesk({ ...ground, ...told, waiters: engine.waiters, isShared, apart });
  const sweeper = new Sweeper({ queue, engine, clock, failed, mine: ground.leases.of("sweeper") });
  const hasEndpoint = async (id: string) => (await endpoints.find(id)) !== undefined;
  const batching = { queue, engine, clock, failed, hasEndpoint, records: batchRecords };
  const progress = new BatchProgress({ ...batching, mine: ground.leases.of("batches") });
  const most = settings.batchesKept;
  const batches = new BatchService({ ...ground, engine, records: batchRecords, progress, most });
  const outputs = new Outputs({ ...ground, engine, urlOf: (id) => endpoints.urlOf(id) });
  const streams = new Streams({ ...ground, engine, outputs, readOutput: (result, ask) => large.output(result, ask) });
  const webhooks = new Webhooks({
    ...ground,
    memory,
    secret: settings.webhookSecret,
    giveUpHours: settings.webhookHours,
    record: (reading) => recordPieces({ ...reading, link: outputs.link(reading.job) }),
    findInput: (body, id) => large.input(body, id),
    accountOf: async (id) => (await endpoints.find(id))?.account,
    mine: ground.leases.of("webhooks"),
  });
  return { engine, tally, book, warmUps, desk, sweeper, progress, batches, outputs, streams, webhooks };
}
