/** What the terms of a caller make of an endpoint, and which of them it cannot have. */

import { isDataCenter } from "../../catalog/compute.ts";
import { bootedIn } from "../../kernel/boot.ts";
import type { Caller } from "../../kernel/caller.ts";
import { present } from "../../kernel/present.ts";
import { problem } from "../../kernel/problem.ts";
import { unsaidOf } from "../../kernel/resource.ts";
import { changedIn, isEmpty, isSame } from "../../kernel/same.ts";
import { commandOf } from "../container/command.ts";
import { containerMistakes } from "../container/mistakes.ts";
import { hasPlaceholder, secretsIn } from "../secrets/placeholders.ts";
import type { TemplateCategory } from "../templates/model.ts";
import { cpuFrom, type GpuTerms, gpuFrom } from "./compute.ts";
import { initTimeoutMistakes } from "./init-timeout.ts";
import { listeningOf } from "./listening.ts";
import { Endpoint, type EndpointType, endpointBoots, endpointDefaults, type KeptEndpoint } from "./model.ts";
import { refuseVolumes } from "./volumes.ts";
import { refuseWarmUp } from "./warm-up.ts";

/** What a caller gives of an endpoint, whichever surface it comes through. */
export type EndpointTerms = Partial<
  Omit<KeptEndpoint, "release" | "template" | "follows" | "gpu" | "cpu" | "workers"> & {
    gpu: GpuTerms;
    cpu: { id: string; vcpuCount: number }[];
    workers: Partial<KeptEndpoint["workers"]>;
    /** Whose fields are copied once. */
    templateId: string;
  }
>;

const RELEASED = bootedIn(endpointBoots);

export function created(body: EndpointTerms): KeptEndpoint {
  const { gpu, cpu, workers, args, entrypoint, cmd, templateId, ...plain } = body;
  const { name, image, type = endpointDefaults.type } = plain;
  if (name === undefined) throw missing("name");
  if (image === undefined) throw missing("image");
  if ((gpu === undefined) === (cpu === undefined))
    throw problem("rule-broken", "Exactly one of 'gpu' and 'cpu' must be set.");
  refuseMistakes(type, body);
  return checked({
    ...unsaidOf(Endpoint),
    scaling: endpointDefaults.scaling[type],
    ...present(plain),
    ...{ name, image, type },
    ...commandOf({ args, entrypoint, cmd }),
    ...(gpu ? { gpu: gpuFrom(gpu) } : {}),
    ...(cpu ? { cpu: cpuFrom(cpu) } : {}),
    workers: { ...endpointDefaults.workers, ...workers },
    template: templateId ?? null,
    release: 1,
  });
}

export function updated(before: KeptEndpoint, body: EndpointTerms): Partial<KeptEndpoint> {
  const { gpu, cpu, workers, args, entrypoint, cmd, templateId, ...plain } = body;
  if (body.type !== undefined && body.type !== before.type)
    throw problem("rule-broken", `This is a ${before.type} endpoint, and its type cannot change.`);
  if (gpu && !before.gpu) throw problem("rule-broken", "This is a CPU endpoint; its compute cannot become GPU.");
  if (cpu && !before.cpu) throw problem("rule-broken", "This is a GPU endpoint; its compute cannot become CPU.");
  refuseMistakes(before.type, body);
  const set: Partial<KeptEndpoint> = {
    ...plain,
    ...commandOf({ args, entrypoint, cmd }, before),
    ...(gpu ? { gpu: gpuFrom(gpu, before.gpu) } : {}),
    ...(cpu ? { cpu: cpuFrom(cpu) } : {}),
    ...(workers ? { workers: { ...before.workers, ...workers } } : {}),
    ...(templateId === undefined ? {} : { template: templateId }),
  };
  const after = checked({ ...before, ...set });
  const changed = RELEASED.some((field) => !isSame(after[field], before[field]));
  return changed ? { ...set, release: before.release + 1 } : set;
}

const SMALL_CPU = { id: "cpu3c", vcpuCount: 2 };

/** For a template that says nothing of compute and a caller who does not either. */
export function withCompute(terms: EndpointTerms, category: TemplateCategory): EndpointTerms {
  if (terms.gpu || terms.cpu) return terms;
  return category === "CPU" ? { ...terms, cpu: [{ ...SMALL_CPU }] } : { ...terms, gpu: {} };
}

/** A key for one endpoint must not come by what the account as a whole has. */
export function refuseTemplate({ endpoints }: Caller, { templateId }: EndpointTerms): void {
  if (!endpoints || templateId === undefined) return;
  throw problem("not-allowed", "This API key is narrowed to some endpoints, and cannot copy a template to them.");
}

/** A key for one endpoint must not come by the private images of others. */
export function refuseNewRegistry({ endpoints }: Caller, before: KeptEndpoint, { registry }: EndpointTerms): void {
  if (!endpoints || !registry || registry === before.registry) return;
  throw problem(
    "not-allowed",
    "This API key is narrowed to some endpoints, and cannot give them a registry that they do not have.",
  );
}

/** A key that may change what a program is told can read it: a key for one endpoint must not come by the secrets of others that way. */
export function refuseNewSecrets({ endpoints }: Caller, before: KeptEndpoint, { env }: EndpointTerms): void {
  if (!endpoints || !env) return;
  const known = new Set(secretsIn(Object.values(before.env)));
  const added = secretsIn(Object.values(env)).find((name) => !known.has(name));
  if (added === undefined) return;
  throw problem(
    "not-allowed",
    `This API key is narrowed to some endpoints, and cannot give them a secret that they do not have: '${added}'.`,
  );
}

/** The name of the template that it shows, where it is said as it is, changes nothing by itself. */
export function changesNothing(
  before: KeptEndpoint,
  set: Partial<KeptEndpoint>,
  { templateName }: { templateName?: string | undefined } = {},
): boolean {
  return isEmpty(changedIn({ volumePlaces: [], ...before, ...(templateName !== undefined && { templateName }) }, set));
}

/** What no worker could start with. A text with a secret in it is judged when that is known, at the boot. */
function refuseMistakes(type: EndpointType, body: Pick<EndpointTerms, "image" | "ports" | "env">): void {
  const env = body.env ?? {};
  const errors = [...containerMistakes(body), ...initTimeoutMistakes(env)];
  if (errors.length > 0) throw problem("invalid", "Request validation failed.", { errors });
  const known = Object.entries(env).filter(([, text]) => !hasPlaceholder(text));
  if (type === "LOAD_BALANCER") listeningOf(Object.fromEntries(known));
}

/** Rules across fields, the same for a new endpoint and a changed one. */
function checked(doc: KeptEndpoint): KeptEndpoint {
  if (doc.type === "LOAD_BALANCER" && doc.scaling.type !== "REQUEST_COUNT") {
    throw problem("invalid", "Request validation failed.", {
      errors: ["$.scaling: a LOAD_BALANCER endpoint takes REQUEST_COUNT scaling only"],
    });
  }
  refuseWarmUp(doc);
  if (doc.workers.min > doc.workers.max) throw problem("rule-broken", "'workers.min' is larger than 'workers.max'.");
  const unknown = doc.dataCenterIds.find((id) => !isDataCenter(id));
  if (unknown !== undefined) throw problem("rule-broken", `There is no data center '${unknown}'.`);
  refuseVolumes(doc);
  return doc;
}

function missing(name: string) {
  const error = `$: property '${name}' is required unless 'templateId' is given`;
  return problem("invalid", "Request validation failed.", { errors: [error] });
}
