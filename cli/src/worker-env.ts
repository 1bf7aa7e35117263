/** `millrace worker-env`: the variables for a worker that a person starts, anywhere. */

import { runningWorkerUrl } from "@millrace/platform/composition/installation.ts";
import { problem } from "@millrace/platform/kernel/problem.ts";
import { Collection } from "@millrace/platform/ports/store/collection.ts";
import { endpoints } from "@millrace/platform/resources/endpoints/model.ts";
import { workerEnv } from "@millrace/platform/resources/endpoints/worker-env.ts";
import { WorkerKeys } from "@millrace/platform/resources/endpoints/worker-keys.ts";
import type { Settings } from "@millrace/platform/settings/settings.ts";
import { Command } from "commander";
import {
  byCommand,
  inInstallation,
  type Opened,
  type PlaceOptions,
  placeSettings,
  print,
  withPlace,
} from "./installation.ts";

interface Options extends PlaceOptions {
  url?: string;
  revoke?: string;
  json?: boolean;
}

export function workerEnvCommand(): Command {
  return withPlace(
    new Command("worker-env").description("print the variables for a worker of an endpoint, started by hand"),
  )
    .argument("<endpoint>", "the endpoint's id")
    .option("--url <url>", "where the worker reaches the server; default: MILLRACE_WORKER_URL, or where one runs")
    .option("--revoke <worker>", "print none; make those of this worker worthless, by its MILLRACE_WORKER_ID")
    .option("--json", "print JSON")
    .addHelpText("after", '\nExample:\n  eval "$(millrace worker-env ENDPOINT)"')
    .action((id: string, options: Options) =>
      inInstallation(options, async (opened) => {
        const { store, audit } = opened;
        const workerKeys = new WorkerKeys(opened);
        await workerKeys.prepare();
        const endpoint = await new Collection(store, endpoints).get(id);
        if (!endpoint) throw problem("not-found", `There is no endpoint '${id}'.`);
        const deedOf = (operation: string) => byCommand(endpoint.account, operation, { type: "serverless", id });
        const { revoke: revoked } = options;
        if (revoked !== undefined)
          return audit.record(deedOf("revokeWorkerKeys"), () => revoke(workerKeys, id, revoked, options.json));
        const issuing = audit.record(deedOf("issueWorkerKeys"), () => workerKeys.issue(endpoint.account, id));
        const { id: worker, ...keys } = await issuing;
        const url = options.url ?? (await urlFrom(placeSettings(options), opened));
        const variables = workerEnv({ url, endpoint: id, worker, ...keys });
        print(variables, options.json, () =>
          Object.entries(variables).map(([name, value]) => `export ${name}='${value}'`),
        );
      }),
    );
}

/** The URL from the settings, else that of a running server, else the one that a server would have. */
async function urlFrom(settings: Settings, { store }: Opened): Promise<string> {
  const { workerUrl, publicUrl, port } = settings;
  return workerUrl ?? publicUrl ?? (await runningWorkerUrl(settings, store)) ?? `http://127.0.0.1:${port}`;
}

async function revoke(workerKeys: WorkerKeys, endpoint: string, worker: string, json?: boolean): Promise<void> {
  if (!(await workerKeys.revokeByHand(endpoint, worker)))
    throw problem("not-found", `'${endpoint}' has no worker '${worker}' that was started by hand`);
  print({ revoked: worker }, json, () => [`revoked the keys of ${worker}`]);
}
