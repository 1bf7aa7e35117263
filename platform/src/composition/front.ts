/** The front of a server, which every request passes: authentication, rate limits, body memory and the form of answers. */
import { Authenticator } from "../guards/authenticate.ts";
import { RateLimiter } from "../guards/rate-limit.ts";
import { BodyMemory } from "../kernel/body-memory.ts";
import { bodyMemory } from "../surfaces/http/body-memory.ts";
import { Doorkeeper } from "../surfaces/http/doorkeeper.ts";
import { Pipeline } from "../surfaces/http/pipeline.ts";
import { LargeJson } from "../surfaces/invoke/large-json.ts";
import type { Ground } from "./ground.ts";
import type { Services } from "./services.ts";

export type Front = ReturnType<typeof openFront>;

export function openFront(ground: Ground, services: Services) {
  const { clock, settings } = ground;
  const { rateLimits: policy, anonymousLimits: anonymous, bodiesMb, payloadLimits, connections } = settings;
  const authenticator = new Authenticator({ ...ground, ...services, publicUrl: settings.publicUrl });
  const limiter = new RateLimiter({ ...ground, policy, anonymous });
  const doorkeeper = new Doorkeeper({ ...ground, most: connections });
  const { memory = new BodyMemory({ clock, bytes: bodyMemory(bodiesMb, payloadLimits) }) } = ground;
  const large = new LargeJson();
  const pipeline = new Pipeline({ ...ground, limiter, audit: services.audit, doorkeeper, memory, large });
  return { authenticator, limiter, doorkeeper, memory, large, pipeline };
}
