/** What reads and writes an installation's data, with or without a server around it: every service, once. */

import type { Clock } from "../kernel/clock.ts";
import type { Failed } from "../kernel/failed.ts";
import type { Log } from "../kernel/log.ts";
import type { Random } from "../kernel/random.ts";
import { Drains } from "../machines/drains.ts";
import { InstanceRecords } from "../machines/instance-records.ts";
import { Costs } from "../metering/cost.ts";
import { PriceBook } from "../metering/price-book.ts";
import { CompanionStore } from "../ports/store/companion-store.ts";
import type { Store } from "../ports/store/store.ts";
import type { Vault } from "../ports/vault/vault.ts";
import type { Quotas } from "../resources/account/quotas.ts";
import { BatchRecords } from "../resources/batches/records.ts";
import { BillingService } from "../resources/billing/service.ts";
import { ClusterService } from "../resources/clusters/service.ts";
import { EndpointFollowers } from "../resources/endpoints/followers.ts";
import { EndpointService } from "../resources/endpoints/service.ts";
import { WorkerKeys } from "../resources/endpoints/worker-keys.ts";
import { PodKeys } from "../resources/pods/keys.ts";
import { PodRecords } from "../resources/pods/records.ts";
import { PodRemains } from "../resources/pods/remains.ts";
import { PodService } from "../resources/pods/service.ts";
import { PortVisits } from "../resources/pods/visits.ts";
import { RegistryService } from "../resources/registries/service.ts";
import { ReleaseRecords } from "../resources/releases/records.ts";
import { accountRemovers, clusterRemovers } from "../resources/removers.ts";
import { S3KeyService } from "../resources/s3-keys/service.ts";
import { MasterKeys } from "../resources/secrets/master-keys.ts";
import { SecretService } from "../resources/secrets/service.ts";
import { SpendBook } from "../resources/spending/service.ts";
import { SshHostKey } from "../resources/ssh/host-key.ts";
import { TemplateService } from "../resources/templates/service.ts";
import { TerminalTickets } from "../resources/terminals/tickets.ts";
import { usersOf } from "../resources/users.ts";
import { Uses } from "../resources/uses.ts";
import { NetworkVolumeService } from "../resources/volumes/service.ts";
import { WorkerRecords } from "../resources/workers/records.ts";
import { type AccountServices, makeAccountServices, prepareAll } from "./account-services.ts";

export interface Surroundings {
  clock: Clock;
  random: Random;
  log: Log;
  /** Hears of background duties; by default they are in the log. */
  failed?: Failed;
}

/** What reads and writes an installation's data, with or without a server around it. */
export interface Services extends AccountServices {
  spending: SpendBook;
  secrets: SecretService;
  registries: RegistryService;
  templates: TemplateService;
  s3Keys: S3KeyService;
  masterKeys: MasterKeys;
  sshHostKey: SshHostKey;
  endpoints: EndpointService;
  workerKeys: WorkerKeys;
  instanceRecords: InstanceRecords;
  drains: Drains;
  workerRecords: WorkerRecords;
  podRecords: PodRecords;
  podKeys: PodKeys;
  podRemains: PodRemains;
  clusters: ClusterService;
  portVisits: PortVisits;
  terminalTickets: TerminalTickets;
  pods: PodService;
  releaseRecords: ReleaseRecords;
  batchRecords: BatchRecords;
  volumes: NetworkVolumeService;
  costs: Costs;
  prices: PriceBook;
  billing: BillingService;
}

export async function openServices(
  given: Omit<Surroundings, "log"> & {
    store: Store;
    vault: Vault;
    publicUrl?: () => string;
    quotas?: Quotas;
    uniqueNames?: boolean;
  },
): Promise<Services> {
  const parts = { ...given, store: new CompanionStore(given.store) };
  const ofAccounts = makeAccountServices(parts);
  const { accounts, audit, quotas, removals } = ofAccounts;
  const prices = new PriceBook(parts);
  const releaseRecords = new ReleaseRecords(parts);
  const spending = new SpendBook(parts);
  const secrets = new SecretService({ ...parts, quotas });
  const uses = new Uses();
  const registries = new RegistryService({ ...parts, quotas, uses });
  const isOwners = (account: string) => accounts.isFirst(account);
  const templates = new TemplateService({ ...parts, quotas, uses, registries, isOwners });
  const volumes = new NetworkVolumeService({ ...parts, quotas, spending, uses, prices });
  const s3Keys = new S3KeyService({ ...parts, quotas });
  const sshHostKey = new SshHostKey(parts);
  const batchRecords = new BatchRecords(parts);
  const instanceRecords = new InstanceRecords({
    ...parts,
    prices,
    boundsHeld: (account) => quotas.boundsHeld(account),
  });
  const podRecords = new PodRecords({ ...parts, instances: instanceRecords, prices });
  const podRemains = new PodRemains(parts);
  const pods = new PodService({
    ...parts,
    podRecords,
    podRemains,
    quotas,
    spending,
    audit,
    registries,
    templates,
    volumes,
  });
  const endpoints = new EndpointService({ ...parts, quotas, removals, releaseRecords, registries, templates, volumes });
  templates.followedBy(new EndpointFollowers({ ...parts, endpoints, releaseRecords, registries }));
  const services = {
    ...ofAccounts,
    releaseRecords,
    spending,
    secrets,
    registries,
    templates,
    s3Keys,
    sshHostKey,
    masterKeys: new MasterKeys({ ...parts, secrets, registries, s3Keys, sshHostKey, batchRecords }),
    endpoints,
    workerKeys: new WorkerKeys(parts),
    instanceRecords,
    drains: new Drains(parts),
    workerRecords: new WorkerRecords({ ...parts, instances: instanceRecords }),
    podRecords,
    podKeys: new PodKeys(parts),
    podRemains,
    portVisits: new PortVisits(parts),
    pods,
    clusters: new ClusterService({ ...parts, pods, podRecords, removals }),
    terminalTickets: new TerminalTickets(parts),
    batchRecords,
    volumes,
    costs: new Costs(parts),
    prices,
    billing: new BillingService(parts),
  };
  removals.register("account", accountRemovers(services));
  removals.register("cluster", clusterRemovers(pods));
  for (const used of ["registry", "template", "network volume"] as const) uses.register(used, usersOf(used, services));
  await prepareAll(services);
  return services;
}
