/** Everything that makes Pods exist, put together. */

import type { Random } from "../kernel/random.ts";
import type { Machines } from "../machines/machines.ts";
import type { OwnMachine } from "../machines/own-machine.ts";
import type { Machine } from "../machines/place.ts";
import type { QuotaBook } from "../resources/account/quotas.ts";
import type { AccountService } from "../resources/account/service.ts";
import { PodPlacer } from "../resources/pods/placer.ts";
import { Yielding } from "../resources/pods/yielding.ts";
import type { RegistryService } from "../resources/registries/service.ts";
import type { SecretService } from "../resources/secrets/service.ts";
import type { SpendBook } from "../resources/spending/service.ts";
import type { TemplateService } from "../resources/templates/service.ts";
import type { NetworkVolumeService } from "../resources/volumes/service.ts";
import { Pods, type PodsParts } from "./pods.ts";

/** Who knows of machines. */
interface Fleet {
  roll(): Promise<{ machines: readonly Machine[] }>;
  readonly machines: Pick<Machines, "seenBefore" | "silences">;
}

type Given = Omit<
  PodsParts,
  | "placer"
  | "yielding"
  | "machines"
  | "seenBefore"
  | "silentSince"
  | "reveal"
  | "accessTo"
  | "ensureVolume"
  | "sshKeysOf"
>;

export interface OpenPodsParts extends Given {
  fleet: Fleet;
  machines?: readonly OwnMachine[];
  random: Random;
  secrets: SecretService;
  registries: RegistryService;
  templates: TemplateService;
  account: AccountService;
  quotas: QuotaBook;
  spending: SpendBook;
  volumes: NetworkVolumeService;
}

/** Where there is nothing to run workers on, there is nothing to run Pods on. */
export function openPods(parts: OpenPodsParts): Pods {
  const { fleet, pods, secrets, registries, account, volumes } = parts;
  const machines = async () => (await fleet.roll()).machines;
  const yielding = new Yielding({ ...parts, machines, stop: (...ending) => pods.stopFor(...ending) });
  const placer = new PodPlacer({ ...parts, machines, yielding });
  pods.placeWith(placer);
  return new Pods({
    ...parts,
    placer,
    yielding,
    machines: parts.machines ?? [],
    seenBefore: () => fleet.machines.seenBefore,
    silentSince: fleet.machines.silences.since,
    reveal: (owner, name) => secrets.reveal(owner, name),
    accessTo: (pull) => registries.accessTo(pull),
    ensureVolume: (id) => volumes.ensure(id),
    sshKeysOf: (owner) => account.sshKeys({ account: owner }),
  });
}
