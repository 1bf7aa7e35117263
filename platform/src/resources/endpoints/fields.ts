/** Turns a caller's terms into the fields of an endpoint, and refuses terms that an endpoint cannot have. */

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

/** What a caller sets on an endpoint, through any surface. */
export type EndpointTerms = Partial<
  Omit<KeptEndpoint, "release" | "template" | "follows" | "gpu" | "cpu" | "workers"> & {
    gpu: GpuTerms;
    cpu: { id: string; vcpuCount: number }[];
    workers: Partial<KeptEndpoint["workers"]>;
    /** The template that the endpoint copies once, or follows. */
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

export function updated(known: KeptEndpoint, body: EndpointTerms): Partial<KeptEndpoint> {
  const before = { ...olderRecord, ...known };
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

/** Adds default compute if neither the template nor the caller sets any. */
export function withCompute(terms: EndpointTerms, category: TemplateCategory): EndpointTerms {
  if (terms.gpu || terms.cpu) return terms;
  return category === "CPU" ? { ...terms, cpu: [{ ...SMALL_CPU }] } : { ...terms, gpu: {} };
}

/** A key that is narrowed to some endpoints must not get at what belongs to the whole account. */
export function refuseTemplate({ endpoints }: Caller, { templateId }: EndpointTerms): void {
  if (!endpoints || templateId === undefined) return;
  throw problem("not-allowed", "This API key is narrowed to some endpoints, and cannot copy a template to them.");
}

/** A key that is narrowed to some endpoints must not get at the private images of others. */
export function refuseNewRegistry({ endpoints }: Caller, before: KeptEndpoint, { registry }: EndpointTerms): void {
  if (!endpoints || !registry || registry === before.registry) return;
  throw problem(
    "not-allowed",
    "This API key is narrowed to some endpoints, and cannot give them a registry that they do not have.",
  );
}

/**
 * A key that can change a program's variables can also read them. If it is narrowed to some endpoints, it must not get at the secrets of
 * others that way.
 */
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

/** What records of older releases do not say. */
const olderRecord = { modelReferences: [] };

/** Sending back the name of the shown template unchanged is not a change. */
export function changesNothing(
  before: KeptEndpoint,
  set: Partial<KeptEndpoint>,
  { templateName }: { templateName?: string | undefined } = {},
): boolean {
  return isEmpty(
    changedIn(
      { volumePlaces: [], ...olderRecord, ...before, ...(templateName !== undefined && { templateName }) },
      set,
    ),
  );
}

/** Refuses settings that no worker could start with. A text with a secret in it is only checked at the boot. */
function refuseMistakes(type: EndpointType, body: Pick<EndpointTerms, "image" | "ports" | "env">): void {
  const env = body.env ?? {};
  const errors = [...containerMistakes(body), ...initTimeoutMistakes(env)];
  if (errors.length > 0) throw problem("invalid", "Request validation failed.", { errors });
  const known = Object.entries(env).filter(([, text]) => !hasPlaceholder(text));
  if (type === "LOAD_BALANCER") listeningOf(Object.fromEntries(known));
}

/** Checks the rules across fields, for new and changed endpoints alike. */
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
