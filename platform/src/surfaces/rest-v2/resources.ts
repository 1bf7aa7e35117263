/** The resources of REST v2: the operations of the contract, each with the function that answers it. */
import type { Authenticator } from "../../guards/authenticate.ts";
import { type Answered, answered, openlyAnswered } from "../../guards/perform.ts";
import { accountOperations } from "../../resources/account/operations.ts";
import { accountHandlers } from "../../resources/account/rest-v2.ts";
import type { AccountService } from "../../resources/account/service.ts";
import { administrationOperations } from "../../resources/administration/operations.ts";
import { administrationHandlers } from "../../resources/administration/rest-v2.ts";
import type { AdministrationService } from "../../resources/administration/service.ts";
import { auditOperations } from "../../resources/audit/operations.ts";
import { auditHandlers } from "../../resources/audit/rest-v2.ts";
import type { AuditLog } from "../../resources/audit/service.ts";
import type { BillingExport } from "../../resources/billing/export.ts";
import { billingOperations } from "../../resources/billing/operations.ts";
import { billingHandlers } from "../../resources/billing/rest-v2.ts";
import type { BillingService } from "../../resources/billing/service.ts";
import { buildOperations } from "../../resources/builds/operations.ts";
import { buildHandlers } from "../../resources/builds/rest-v2.ts";
import { catalogOperations } from "../../resources/catalog/operations.ts";
import { catalogHandlers } from "../../resources/catalog/rest-v2.ts";
import type { CatalogService } from "../../resources/catalog/service.ts";
import { clusterOperations } from "../../resources/clusters/operations.ts";
import { clusterHandlers } from "../../resources/clusters/rest-v2.ts";
import type { ClusterService } from "../../resources/clusters/service.ts";
import { endpointOperations } from "../../resources/endpoints/operations.ts";
import { endpointHandlers } from "../../resources/endpoints/rest-v2.ts";
import type { EndpointService } from "../../resources/endpoints/service.ts";
import { eventOperations } from "../../resources/events/operations.ts";
import { eventHandlers } from "../../resources/events/rest-v2.ts";
import type { AccountEvents } from "../../resources/events/service.ts";
import { historyOperations } from "../../resources/history/operations.ts";
import { historyHandlers } from "../../resources/history/rest-v2.ts";
import type { HistoryService } from "../../resources/history/service.ts";
import { hubOperations } from "../../resources/hub/operations.ts";
import { hubHandlers } from "../../resources/hub/rest-v2.ts";
import type { HubService } from "../../resources/hub/service.ts";
import { installationOperations } from "../../resources/installation/operations.ts";
import { installationHandlers } from "../../resources/installation/rest-v2.ts";
import type { InstallationService } from "../../resources/installation/service.ts";
import type { LogReaders } from "../../resources/logs/readers.ts";
import { modelOperations } from "../../resources/models/operations.ts";
import { modelHandlers } from "../../resources/models/rest-v2.ts";
import type { ModelService } from "../../resources/models/service.ts";
import { ownOperations, peopleOperations, signInOperations } from "../../resources/people/operations.ts";
import { ownHandlers, type PeopleServices, peopleHandlers, signInHandlers } from "../../resources/people/rest-v2.ts";
import type { PortLinks } from "../../resources/pods/links.ts";
import { podOperations } from "../../resources/pods/operations.ts";
import { podHandlers } from "../../resources/pods/rest-v2.ts";
import type { PodService } from "../../resources/pods/service.ts";
import type { PodViews } from "../../resources/pods/view.ts";
import { publicEndpointOperations } from "../../resources/public-endpoints/operations.ts";
import { publicEndpointHandlers } from "../../resources/public-endpoints/rest-v2.ts";
import type { PublicEndpointService } from "../../resources/public-endpoints/service.ts";
import type { PublicEndpointUses } from "../../resources/public-endpoints/uses.ts";
import { registryOperations } from "../../resources/registries/operations.ts";
import { registryHandlers } from "../../resources/registries/rest-v2.ts";
import type { RegistryService } from "../../resources/registries/service.ts";
import { releaseOperations } from "../../resources/releases/operations.ts";
import { releaseHandlers } from "../../resources/releases/rest-v2.ts";
import type { ReleaseService } from "../../resources/releases/service.ts";
import { s3KeyOperations } from "../../resources/s3-keys/operations.ts";
import { s3KeyHandlers } from "../../resources/s3-keys/rest-v2.ts";
import type { S3KeyService } from "../../resources/s3-keys/service.ts";
import { secretOperations } from "../../resources/secrets/operations.ts";
import { secretHandlers } from "../../resources/secrets/rest-v2.ts";
import type { SecretService } from "../../resources/secrets/service.ts";
import { spendingOperations } from "../../resources/spending/operations.ts";
import { type SpendingServices, spendingHandlers } from "../../resources/spending/rest-v2.ts";
import { templateOperations } from "../../resources/templates/operations.ts";
import { templateHandlers } from "../../resources/templates/rest-v2.ts";
import type { TemplateService } from "../../resources/templates/service.ts";
import { terminalOperations } from "../../resources/terminals/operations.ts";
import { terminalHandlers } from "../../resources/terminals/rest-v2.ts";
import type { TerminalService } from "../../resources/terminals/service.ts";
import { volumeFileOperations } from "../../resources/volume-files/operations.ts";
import { volumeFileHandlers } from "../../resources/volume-files/rest-v2.ts";
import type { VolumeFileService } from "../../resources/volume-files/service.ts";
import { networkVolumeOperations } from "../../resources/volumes/operations.ts";
import { networkVolumeHandlers } from "../../resources/volumes/rest-v2.ts";
import type { NetworkVolumeService } from "../../resources/volumes/service.ts";
import type { HealthService } from "../../resources/workers/health.ts";
import { workerOperations } from "../../resources/workers/operations.ts";
import { workerHandlers } from "../../resources/workers/rest-v2.ts";
import type { WorkerService } from "../../resources/workers/service.ts";

export interface RestServices extends PeopleServices, SpendingServices {
  account: AccountService;
  audit: AuditLog;
  secrets: SecretService;
  pods: PodService;
  podViews: PodViews;
  portLinks: PortLinks;
  logReaders: LogReaders;
  clusters: ClusterService;
  endpoints: EndpointService;
  publicEndpoints: PublicEndpointService;
  publicEndpointUses: PublicEndpointUses;
  hub: HubService;
  models: ModelService;
  publicUrl: () => string;
  workers: WorkerService;
  endpointHealth: HealthService;
  terminals: TerminalService;
  releases: ReleaseService;
  registries: RegistryService;
  catalog: CatalogService;
  templates: TemplateService;
  volumes: NetworkVolumeService;
  volumeFiles: VolumeFileService;
  s3Keys: S3KeyService;
  billing: BillingService;
  billingExport: BillingExport;
  history: HistoryService;
  administration: AdministrationService;
  installation: InstallationService;
  events: AccountEvents;
  authenticator: Authenticator;
}

export function restResources(services: RestServices): Answered[] {
  const forgetKeys = () => services.authenticator.forget();
  return [
    answered(accountOperations, accountHandlers(services.account, forgetKeys)),
    answered(peopleOperations, peopleHandlers(services, forgetKeys)),
    answered(ownOperations, ownHandlers(services)),
    openlyAnswered(signInOperations, signInHandlers(services)),
    answered(spendingOperations, spendingHandlers(services)),
    answered(auditOperations, auditHandlers(services.audit)),
    answered(eventOperations, eventHandlers(services.events)),
    answered(secretOperations, secretHandlers(services.secrets)),
    answered(podOperations, podHandlers(services)),
    answered(clusterOperations, clusterHandlers(services.clusters, services.podViews)),
    answered(endpointOperations, endpointHandlers(services.endpoints)),
    answered(publicEndpointOperations, publicEndpointHandlers(services)),
    answered(hubOperations, hubHandlers(services.hub)),
    answered(modelOperations, modelHandlers(services.models)),
    answered(workerOperations, workerHandlers(services)),
    answered(terminalOperations, terminalHandlers(services.terminals)),
    answered(releaseOperations, releaseHandlers(services.releases)),
    answered(buildOperations, buildHandlers(services.endpoints)),
    answered(registryOperations, registryHandlers(services.registries)),
    answered(catalogOperations, catalogHandlers(services.catalog)),
    answered(templateOperations, templateHandlers(services.templates)),
    answered(networkVolumeOperations, networkVolumeHandlers(services.volumes)),
    answered(volumeFileOperations, volumeFileHandlers(services.volumeFiles)),
    answered(s3KeyOperations, s3KeyHandlers(services.s3Keys)),
    answered(billingOperations, billingHandlers(services.billing, services.billingExport)),
    answered(historyOperations, historyHandlers(services.history)),
    answered(
      administrationOperations,
      administrationHandlers(services.administration, services.billingExport, () => services.authenticator.forget()),
    ),
    answered(installationOperations, installationHandlers(services.installation)),
  ];
}
