/** The application over its ports: services, guards and surfaces wired together, with no adapter named. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Authenticator } from "./guards/authenticate.ts";
import { parsePolicy, RateLimiter } from "./guards/rate-limit.ts";
import type { Clock } from "./kernel/clock.ts";
import type { Log } from "./kernel/log.ts";
import { handlersOf } from "./kernel/operation.ts";
import { problem } from "./kernel/problem.ts";
import type { Random } from "./kernel/random.ts";
import type { Limits } from "./ports/limits/limits.ts";
import type { Store } from "./ports/store/store.ts";
import type { Vault } from "./ports/vault/vault.ts";
import { Accounts } from "./resources/account/accounts.ts";
import { accountOperations } from "./resources/account/operations.ts";
import { AccountService } from "./resources/account/service.ts";
import { secretOperations } from "./resources/secrets/operations.ts";
import { SecretService } from "./resources/secrets/service.ts";
import { Pipeline } from "./surfaces/http/pipeline.ts";
import { closeServer, createServer } from "./surfaces/http/server.ts";
import { mountDocs } from "./surfaces/rest-v2/docs.ts";
import { mountRestV2, type RestHandlers, restV2Surface } from "./surfaces/rest-v2/routes.ts";

export interface Surroundings {
  clock: Clock;
  random: Random;
  log: Log;
}

/** What reads and writes an installation's data, with or without a server around it. */
export interface Services {
  accounts: Accounts;
  account: AccountService;
  secrets: SecretService;
}

export async function openServices(
  parts: Omit<Surroundings, "log"> & { store: Store; vault: Vault },
): Promise<Services> {
  const services = {
    accounts: new Accounts(parts),
    account: new AccountService(parts),
    secrets: new SecretService(parts),
  };
  await Promise.all(Object.values(services).map((service) => service.prepare()));
  return services;
}

export interface App extends AsyncDisposable {
  http: FastifyInstance;
}

export function createApp(
  parts: Surroundings & { store: Store; limits: Limits },
  services: Services,
  settings: { rateLimits: string },
): App {
  const { clock, log } = parts;
  const failed = (error: unknown) => log.error({ err: error }, "a background duty failed");
  const authenticator = new Authenticator({ ...parts, failed });
  const limiter = new RateLimiter({ ...parts, policy: parsePolicy(settings.rateLimits) });
  const pipeline = new Pipeline({ ...parts, limiter });
  const rest = restV2Surface(authenticator);
  const invalidPath = problem("malformed", "The request path is not valid.");
  const badPath = (request: FastifyRequest, reply: FastifyReply) => pipeline.refuse(rest, invalidPath, request, reply);
  const http = createServer({ clock, badPath });
  mountDocs(http);
  mountRestV2(http, pipeline, rest, restHandlers(services, authenticator));
  return {
    http,
    async [Symbol.asyncDispose]() {
      await closeServer(http, clock);
      await authenticator[Symbol.asyncDispose]();
    },
  };
}

function restHandlers({ account, secrets }: Services, authenticator: Authenticator): RestHandlers {
  const accountHandlers = handlersOf(accountOperations, account);
  return {
    ...accountHandlers,
    ...handlersOf(secretOperations, secrets),
    async deleteApiKey(call) {
      await accountHandlers.deleteApiKey(call);
      authenticator.forget();
    },
  };
}
