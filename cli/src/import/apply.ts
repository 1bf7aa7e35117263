/** Does what a plan says, one thing after another. Each is done or not done, so that the same import can be run again after a break. */
import { stay } from "@millrace/platform/kernel/clock.ts";
import { endpointOperations } from "@millrace/platform/resources/endpoints/operations.ts";
import { podOperations } from "@millrace/platform/resources/pods/operations.ts";
import { registryOperations } from "@millrace/platform/resources/registries/operations.ts";
import { secretOperations } from "@millrace/platform/resources/secrets/operations.ts";
import { templateOperations } from "@millrace/platform/resources/templates/operations.ts";
import { networkVolumeOperations } from "@millrace/platform/resources/volumes/operations.ts";
import type { ApiClient, Called } from "../api.ts";
import { Refusal } from "../failure.ts";
import { listed } from "../names.ts";
import { type Definition, type Fields, type Kind, kinds } from "./definition.ts";
import { type Here, idHere, type Step, unfinishedName, withIds } from "./plan.ts";
import type { Values } from "./values.ts";

const LISTS: Record<Kind, Called> = {
  secrets: secretOperations.listSecrets,
  registries: registryOperations.listRegistries,
  volumes: networkVolumeOperations.listNetworkVolumes,
  templates: templateOperations.listTemplates,
  endpoints: endpointOperations.listEndpoints,
  pods: podOperations.listPods,
};

const CREATIONS: Record<Kind, Called> = {
  secrets: secretOperations.createSecret,
  registries: registryOperations.createRegistry,
  volumes: networkVolumeOperations.createNetworkVolume,
  templates: templateOperations.createTemplate,
  endpoints: endpointOperations.createEndpoint,
  pods: podOperations.createPod,
};

const LIST_KEYS: Record<Kind, string> = {
  ...{ secrets: "secrets", registries: "registries", volumes: "networkVolumes", templates: "templates" },
  ...{ endpoints: "endpoints", pods: "pods" },
};

/** What the account here has of these kinds. A kind that others refer to is read too. */
export async function readHere(api: ApiClient): Promise<Here> {
  const read = async (kind: Kind) => [kind, (await listed(api, LISTS[kind]))[LIST_KEYS[kind]] as Fields[]] as const;
  return Object.fromEntries(await Promise.all(kinds.map(read))) as Here;
}

export interface Applying {
  api: ApiClient;
  here: Here;
  all: readonly Definition[];
  values: Values;
}

export type Outcome = { done: true } | { done: false; why: string };

/** Creates or finishes one thing, and notes its id in `here` for those that refer to it. */
export async function applyStep(applying: Applying, step: Step): Promise<Outcome> {
  try {
    if (step.kind === "pods") return await applyPod(applying, step);
    const body = await bodyFor(applying, step.definition!);
    applying.here[step.kind].push((await patiently(() => applying.api.call(CREATIONS[step.kind], { body }))) as Fields);
    return { done: true };
  } catch (error) {
    if (error instanceof Missing) return { done: false, why: error.message };
    if (!(error instanceof Refusal) || error.status === 401) throw error;
    return { done: false, why: [error.message, ...error.errors].join("; ") };
  }
}

/** Something that the thing needs is not here. */
class Missing extends Error {}

async function bodyFor({ values, all, here }: Applying, definition: Definition): Promise<Fields> {
  const { kind, body } = definition;
  if (kind === "secrets" || kind === "registries") {
    const value = await values.of(definition);
    if (!value) throw new Missing("no value was given for it");
    return { ...body, ...value };
  }
  return withIds(body, (of, id) => {
    const known = idHere(of, id, all, here);
    if (known === undefined) throw new Missing(`it needs ${ONE[of] ?? of} '${nameOf(of, id, all)}', which is not here`);
    return known;
  });
}

const ONE: Partial<Record<Kind, string>> = { registries: "registry", volumes: "volume" };

const nameOf = (kind: Kind, id: string, all: readonly Definition[]) =>
  all.find((one) => one.kind === kind && one.id === id)?.name ?? id;

/**
 * A Pod begins to run when it is created, and the same program must not run in two places. So it is created under another name, stopped, and
 * gets its own name last.
 */
async function applyPod(applying: Applying, { definition, here }: Step): Promise<Outcome> {
  const { api } = applying;
  const { locked, ...body } = await bodyFor(applying, definition!);
  const id = here ?? (await created());
  await stop(api, id);
  const last = { name: definition!.name, ...(locked === true && { locked }) };
  await patiently(() => api.call(podOperations.updatePod, { params: { id }, body: last }));
  return { done: true };

  async function created(): Promise<string> {
    const ask = { body: { ...body, name: unfinishedName(definition!.name) } };
    return (await patiently(() => api.call(podOperations.createPod, ask))).id;
  }
}

/** A Pod that ended by itself, or cannot run, needs no stop. */
async function stop(api: ApiClient, id: string): Promise<void> {
  try {
    await patiently(() => api.call(podOperations.podAction, { params: { id }, body: { action: "stop" } }));
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 409) throw error;
    const { actions } = await api.call(podOperations.getPod, { params: { id } });
    if (actions.includes("stop")) throw error;
  }
}

const MOST_TRIES = 10;
const PAUSE_MS = 10_000;

/** Waits while the server refuses because of too many requests. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 429 || tried === MOST_TRIES) throw error;
      await stay(PAUSE_MS);
    }
  }
}
