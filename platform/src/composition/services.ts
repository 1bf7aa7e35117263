/** Opens what reads and writes an installation's data, with or without a server: its books and every service. */

import type { Clock } from "../kernel/clock.ts";
import type { Failed } from "../kernel/failed.ts";
import type { Log } from "../kernel/log.ts";
import { problem } from "../kernel/problem.ts";
import type { Random } from "../kernel/random.ts";
import { Drains } from "../machines/drains.ts";
import { InstanceRecords } from "../machines/instance-records.ts";
import type { Machine } from "../machines/place.ts";
import { Costs } from "../metering/cost.ts";
import { PriceBook } from "../metering/price-book.ts";
import { CompanionStore } from "../ports/store/companion-store.ts";
import type { Store } from "../ports/store/store.ts";
import { WatchedStore } from "../ports/store/watched-store.ts";
import type { Vault } from "../ports/vault/vault.ts";
import type { Quotas } from "../resources/account/quotas.ts";
import { BatchRecords } from "../resources/batches/records.ts";
import { ChargeBook } from "../resources/billing/charge-book.ts";
import { BillingExport } from "../resources/billing/export.ts";
import { BillingService } from "../resources/billing/service.ts";
import { ClusterService } from "../resources/clusters/service.ts";
import { EndpointFollowers } from "../resources/endpoints/followers.ts";
import type { RefusesImage } from "../resources/endpoints/images.ts";
import { EndpointService } from "../resources/endpoints/service.ts";
import { WorkerKeys } from "../resources/endpoints/worker-keys.ts";
import { SeriesRecords } from "../resources/history/records.ts";
import { HubRecords } from "../resources/hub/records.ts";
import { ModelRecords } from "../resources/models/records.ts";
import { ModelService } from "../resources/models/service.ts";
import type { SessionTimes } from "../resources/people/sessions.ts";
import { PodEndings } from "../resources/pods/endings.ts";
import type { PodInstance } from "../resources/pods/instance.ts";
import { PodKeys } from "../resources/pods/keys.ts";
import type { ReadPodLog } from "../resources/pods/logs.ts";
import { PodPlacer } from "../resources/pods/placer.ts";
import { PodRecords } from "../resources/pods/records.ts";
import { PodRemains } from "../resources/pods/remains.ts";
import { PodService } from "../resources/pods/service.ts";
import { PortVisits } from "../resources/pods/visits.ts";
import { Yielding } from "../resources/pods/yielding.ts";
import { PublicEndpointRecords } from "../resources/public-endpoints/records.ts";
import { PublicEndpointService } from "../resources/public-endpoints/service.ts";
import { PublicEndpointUses } from "../resources/public-endpoints/uses.ts";
import { RegistryService } from "../resources/registries/service.ts";
import { ReleaseRecords } from "../resources/releases/records.ts";
import { accountRemovers, clusterRemovers } from "../resources/removers.ts";
import { S3KeyService } from "../resources/s3-keys/service.ts";
import { MachineKeys } from "../resources/secrets/machine-keys.ts";
import { MasterKeys } from "../resources/secrets/master-keys.ts";
import { SecretService } from "../resources/secrets/service.ts";
import { SpendBook } from "../resources/spending/service.ts";
import { SshHostKey } from "../resources/ssh/host-key.ts";
import { TemplateService } from "../resources/templates/service.ts";
import { TerminalTickets } from "../resources/terminals/tickets.ts";
import { usersIn } from "../resources/users.ts";
import { Uses } from "../resources/uses.ts";
import { VolumeRecords } from "../resources/volumes/records.ts";
import { NetworkVolumeService, type VolumeUpkeep } from "../resources/volumes/service.ts";
import { WorkerRecords } from "../resources/workers/records.ts";
import { type AccountServices, makeAccountServices, prepareAll, type ServiceParts } from "./account-services.ts";

export interface Surroundings {
  clock: Clock;
  random: Random;
  log: Log;
  /** Hears about failures of background duties. By default they are logged. */
  failed?: Failed;
}

/** The records of an installation, and the services that need no machines. */
export interface Books extends AccountServices {
  /** The parts that services are created with. */
  parts: ServiceParts & { vault: Vault; publicUrl?: () => string; uniqueNames?: boolean };
  uses: Uses;
  /** All writes of services go through this store. */
  watched: WatchedStore;
  spending: SpendBook;
  secrets: SecretService;
  registries: RegistryService;
  s3Keys: S3KeyService;
  masterKeys: MasterKeys;
  sshHostKey: SshHostKey;
  machineKeys: MachineKeys;
  workerKeys: WorkerKeys;
  instanceRecords: InstanceRecords;
  drains: Drains;
  workerRecords: WorkerRecords;
  podRecords: PodRecords;
  podKeys: PodKeys;
  podRemains: PodRemains;
  portVisits: PortVisits;
  terminalTickets: TerminalTickets;
  releaseRecords: ReleaseRecords;
  seriesRecords: SeriesRecords;
  batchRecords: BatchRecords;
  volumeRecords: VolumeRecords;
  costs: Costs;
  prices: PriceBook;
  billing: BillingService;
  billingExport: BillingExport;
  charges: ChargeBook;
  publicEndpointRecords: PublicEndpointRecords;
  hubRecords: HubRecords;
  modelRecords: ModelRecords;
}

/** What a server adds to its services. Commands add nothing. */
export interface Around {
  /** The machines that are available. */
  machines: () => Promise<readonly Machine[]>;
  /** Whether any of the machines runs Pods. */
  runsPods: boolean;
  refusesImage: RefusesImage;
  readPodLog: ReadPodLog;
  volumeUpkeep: VolumeUpkeep;
  /** The id of this node. */
  node: string;
  /** Models were added, changed or deleted. */
  modelsChanged: () => void;
  endpointChanged: (endpoint: string) => void;
  podChanged: (instance: PodInstance | undefined) => void;
}

/** All services of an installation. */
export interface Services extends Books {
  volumes: NetworkVolumeService;
  models: ModelService;
  templates: TemplateService;
  endpoints: EndpointService;
  publicEndpoints: PublicEndpointService;
  publicEndpointUses: PublicEndpointUses;
  endings: PodEndings;
  yielding: Yielding;
  /** Undefined if nothing runs Pods. */
  placer: PodPlacer | undefined;
  pods: PodService;
  clusters: ClusterService;
}

const nobodyAround: Around = {
  machines: async () => [],
  runsPods: false,
  refusesImage: async () => undefined,
  readPodLog: async () => {
    throw problem("not-found", "nothing keeps logs here");
  },
  volumeUpkeep: { tend: async () => {}, ensure: async () => {} },
  node: "",
  modelsChanged: () => {},
  endpointChanged: () => {},
  podChanged: () => {},
};

export async function openBooks(
  given: Omit<Surroundings, "log"> & {
    store: Store;
    vault: Vault;
    publicUrl?: () => string;
    quotas?: Quotas;
    sessionTimes?: SessionTimes | undefined;
    uniqueNames?: boolean;
  },
): Promise<Books> {
  const watched = new WatchedStore(given.store);
  const parts = { ...given, store: new CompanionStore(watched) };
  const ofAccounts = makeAccountServices(parts);
  const { quotas, accountRules } = ofAccounts;
  const prices = new PriceBook(parts);
  const secrets = new SecretService({ ...parts, quotas });
  const uses = new Uses(usersIn(parts.store));
  const registries = new RegistryService({ ...parts, quotas, uses });
  const s3Keys = new S3KeyService({ ...parts, quotas, accountRules });
  const sshHostKey = new SshHostKey(parts);
  const machineKeys = new MachineKeys(parts);
  const batchRecords = new BatchRecords(parts);
  const charges = new ChargeBook(parts);
  const boundsHeld = (account: string) => quotas.boundsHeld(account);
  const instanceRecords = new InstanceRecords({ ...parts, prices, boundsHeld });
  const books = {
    ...ofAccounts,
    releaseRecords: new ReleaseRecords(parts),
    seriesRecords: new SeriesRecords(parts),
    charges,
    spending: new SpendBook({ ...parts, charges }),
    secrets,
    registries,
    s3Keys,
    sshHostKey,
    machineKeys,
    masterKeys: new MasterKeys({ ...parts, secrets, registries, s3Keys, sshHostKey, machineKeys, batchRecords }),
    workerKeys: new WorkerKeys(parts),
    instanceRecords,
    drains: new Drains(parts),
    workerRecords: new WorkerRecords({ ...parts, instances: instanceRecords }),
    podRecords: new PodRecords({ ...parts, instances: instanceRecords, prices }),
    podKeys: new PodKeys(parts),
    podRemains: new PodRemains(parts),
    portVisits: new PortVisits(parts),
    terminalTickets: new TerminalTickets(parts),
    batchRecords,
    volumeRecords: new VolumeRecords({ ...parts, prices }),
    costs: new Costs(parts),
    prices,
    billing: new BillingService({ ...parts, charges }),
    billingExport: new BillingExport({ ...parts, ...ofAccounts, charges }),
    publicEndpointRecords: new PublicEndpointRecords(parts),
    hubRecords: new HubRecords(parts),
    modelRecords: new ModelRecords(parts),
  };
  await prepareAll(books);
  return { ...books, parts, uses, watched };
}

/** Opens the services on top of the books and connects them to the server. */
export async function openServices(books: Books, around: Around = nobodyAround): Promise<Services> {
  // An installation also has the bare store. Writes to it would get no audit entry and nobody would be notified, so the watched store is
  // used.
  const { store } = books.parts;
  const given = { ...books.parts, ...books, ...around, store };
  const { accounts, removals } = books;
  const volumes = new NetworkVolumeService(given);
  const isOwners = (account: string) => accounts.isFirst(account);
  const models = new ModelService({ ...given, volumes, isOwners });
  const templates = new TemplateService({ ...given, isOwners });
  const endpoints = new EndpointService({ ...given, templates, volumes, models });
  const publicEndpoints = new PublicEndpointService({
    ...{ ...given, endpoints },
    limitedKey: (key) => books.spending.limited(key),
  });
  const publicEndpointUses = new PublicEndpointUses(given);
  templates.followedBy(new EndpointFollowers({ ...given, endpoints }));
  const endings = new PodEndings(given);
  const yielding = new Yielding({ ...given, stop: (...ending) => endings.stopFor(...ending) });
  const placer = around.runsPods ? new PodPlacer({ ...given, yielding, templates, volumes }) : undefined;
  const pods = new PodService({ ...given, endings, placer, templates, volumes });
  const clusters = new ClusterService({ ...given, pods });
  removals.register("account", accountRemovers({ endpoints, pods, volumes }));
  removals.register("cluster", clusterRemovers(pods));
  await prepareAll({ templates, endpoints, publicEndpoints, pods, clusters });
  const shared = { publicEndpoints, publicEndpointUses };
  return { ...books, ...shared, volumes, models, templates, endpoints, endings, yielding, placer, pods, clusters };
}
