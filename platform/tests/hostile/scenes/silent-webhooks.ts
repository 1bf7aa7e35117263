/** Nobody answers the webhooks of one account, while another account still gets its own. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { CPU, type Party, type Scene, WEBHOOK_HOST } from "../stage.ts";

const MESSAGES = 40;
const PATIENCE_MS = 5000;

export const scenes: Scene[] = [
  {
    name: "webhooks to a silent target delay nobody else's",
    async attack(stage) {
      const silent = await listening(createServer((request) => request.resume()));
      const told = Promise.withResolvers<void>();
      const target = await listening(
        createServer((request, response) => {
          request.resume();
          response.end();
          told.resolve();
        }),
      );
      const hostile = await jobless(stage.hostile);
      const owner = await jobless(stage.owner);
      await Promise.all(Array.from({ length: MESSAGES }, () => endedJob(stage.hostile, hostile, urlOf(silent))));
      await endedJob(stage.owner, owner, urlOf(target));
      await soon(told.promise);
      for (const [party, endpoint] of [
        [stage.hostile, hostile],
        [stage.owner, owner],
      ] as const)
        await expected(204, party.call("DELETE", `/v2/serverless/${endpoint}`));
      for (const server of [silent, target]) {
        server.closeAllConnections();
        server.close();
      }
    },
  },
];

/** An endpoint without workers. Its jobs end by being cancelled. */
async function jobless(party: Party): Promise<string> {
  const body = { name: "told", image: "nobody/nothing:1", workers: { min: 0, max: 0 }, ...CPU };
  return (await expected(201, party.call("POST", "/v2/serverless", body))).json.id;
}

async function endedJob(party: Party, endpoint: string, webhook: string): Promise<void> {
  const { json } = await expected(200, party.call("POST", `/v2/${endpoint}/run`, { input: {}, webhook }));
  await expected(200, party.call("POST", `/v2/${endpoint}/cancel/${json.id}`));
}

async function expected(status: number, asked: ReturnType<Party["call"]>) {
  const answer = await asked;
  if (answer.status !== status) throw new Error(`expected ${status}, not ${answer.status}: ${answer.text}`);
  return answer;
}

async function listening(server: Server): Promise<Server> {
  await once(server.listen(0, WEBHOOK_HOST), "listening");
  return server;
}

const urlOf = (server: Server) => `http://${WEBHOOK_HOST}:${(server.address() as AddressInfo).port}`;

function soon(event: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("nobody told the other account")), PATIENCE_MS);
    event.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
