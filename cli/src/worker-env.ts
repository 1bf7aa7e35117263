/** `millrace worker-env`: the variables for a worker that is started by hand, anywhere. */
import { problem } from "@millrace/platform/kernel/problem.ts";
import { type Installation, runningWorkerUrl, type Settings } from "@millrace/platform/main.ts";
import { workerEnv } from "@millrace/platform/resources/endpoints/worker-env.ts";
import { Command } from "commander";
import { byCommand, inInstallation, type PlaceOptions, placeSettings, print, withPlace } from "./installation.ts";

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
    .action((id: string, options: Options) =>
      inInstallation(options, async (installation) => {
        const { endpoints, workerKeys, audit } = installation;
        const endpoint = await endpoints.find(id);
        if (!endpoint) throw problem("not-found", `There is no endpoint '${id}'.`);
        const deedOf = (operation: string) => byCommand(endpoint.account, operation, { type: "serverless", id });
        const { revoke: revoked } = options;
        if (revoked !== undefined)
          return audit.record(deedOf("revokeWorkerKeys"), () => revoke(installation, id, revoked, options.json));
        const issuing = audit.record(deedOf("issueWorkerKeys"), () => workerKeys.issue(endpoint.account, id));
        const { id: worker, ...keys } = await issuing;
        const url = options.url ?? (await urlFrom(placeSettings(options), installation));
        const variables = workerEnv({ url, endpoint: id, worker, ...keys });
        print(variables, options.json, () =>
          Object.entries(variables).map(([name, value]) => `export ${name}='${value}'`),
        );
      }),
    );
}

/** What the settings say, else the address of a server that runs, else the one that it would have. */
async function urlFrom(settings: Settings, installation: Installation): Promise<string> {
  const { workerUrl, publicUrl, port } = settings;
  return workerUrl ?? publicUrl ?? (await runningWorkerUrl(settings, installation)) ?? `http://127.0.0.1:${port}`;
}

async function revoke({ workerKeys }: Installation, endpoint: string, worker: string, json?: boolean): Promise<void> {
  if (!(await workerKeys.revokeByHand(endpoint, worker)))
    throw problem("not-found", `'${endpoint}' has no worker '${worker}' that was started by hand`);
  print({ revoked: worker }, json, () => [`revoked the keys of ${worker}`]);
}
