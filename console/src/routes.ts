/** Every address of the console, and the file that shows it. Pages are loaded when they are first opened. */
import { createRootRoute, createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loading } from "./shell/missing-file.ts";
import { NotFound } from "./shell/not-found.tsx";
import { Shell } from "./shell/shell.tsx";

/** Every page may have parameters of its view in the address: see `useView`. */
type Search = Record<string, string | undefined>;
const root = createRootRoute({ notFoundComponent: NotFound, validateSearch: (search): Search => search as Search });
const inside = createRoute({ getParentRoute: () => root, id: "inside", component: Shell });

type Module = Record<string, unknown>;
const page = <const Path extends string>(path: Path, load: () => Promise<Module>, name: string) =>
  createRoute({
    getParentRoute: () => inside,
    path,
    component: lazyRouteComponent(loading(load) as () => Promise<Record<string, never>>, name),
  });
const outside = <const Path extends string>(path: Path, load: () => Promise<Module>, name: string) =>
  createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(loading(load) as () => Promise<Record<string, never>>, name),
  });

const pages = [
  page("/", () => import("./pages/overview/page.tsx"), "Overview"),
  page("/serverless", () => import("./pages/serverless/list.tsx"), "EndpointList"),
  page("/serverless/new", () => import("./pages/serverless/create.tsx"), "CreateEndpoint"),
  page("/serverless/$id", () => import("./pages/serverless/overview.tsx"), "EndpointOverview"),
  page("/serverless/$id/jobs", () => import("./pages/serverless/jobs.tsx"), "EndpointJobs"),
  page("/serverless/$id/jobs/$jobId", () => import("./pages/serverless/job.tsx"), "JobPage"),
  page("/serverless/$id/workers", () => import("./pages/serverless/workers.tsx"), "EndpointWorkers"),
  page("/serverless/$id/workers/$workerId/terminal", () => import("./pages/serverless/terminal.tsx"), "WorkerTerminal"),
  page("/serverless/$id/logs", () => import("./pages/serverless/logs.tsx"), "EndpointLogs"),
  page("/serverless/$id/releases", () => import("./pages/serverless/releases.tsx"), "EndpointReleases"),
  page("/serverless/$id/batches", () => import("./pages/serverless/batches.tsx"), "EndpointBatches"),
  page("/serverless/$id/batches/$batchId", () => import("./pages/serverless/batch.tsx"), "BatchPage"),
  page("/serverless/$id/settings", () => import("./pages/serverless/settings.tsx"), "EndpointSettings"),
  page("/serverless/$id/try", () => import("./pages/serverless/try.tsx"), "EndpointTry"),
  page("/public-endpoints", () => import("./pages/public-endpoints/list.tsx"), "PublicEndpointList"),
  page("/public-endpoints/new", () => import("./pages/public-endpoints/form.tsx"), "SharePage"),
  page("/public-endpoints/$id", () => import("./pages/public-endpoints/page.tsx"), "PublicEndpointPage"),
  page("/public-endpoints/$id/try", () => import("./pages/public-endpoints/try.tsx"), "PublicEndpointTry"),
  page("/public-endpoints/$id/jobs", () => import("./pages/public-endpoints/jobs.tsx"), "PublicEndpointJobs"),
  page(
    "/public-endpoints/$id/settings",
    () => import("./pages/public-endpoints/settings.tsx"),
    "PublicEndpointSettings",
  ),
  page("/hub", () => import("./pages/hub/list.tsx"), "HubPage"),
  page("/hub/deployments/$id", () => import("./pages/hub/deployment.tsx"), "DeploymentPage"),
  page("/hub/$id", () => import("./pages/hub/listing.tsx"), "ListingPage"),
  page("/pods", () => import("./pages/pods/list.tsx"), "PodList"),
  page("/pods/new", () => import("./pages/pods/create.tsx"), "CreatePod"),
  page("/pods/$id", () => import("./pages/pods/overview.tsx"), "PodOverview"),
  page("/pods/$id/logs", () => import("./pages/pods/logs.tsx"), "PodLogs"),
  page("/pods/$id/terminal", () => import("./pages/pods/terminal.tsx"), "PodTerminal"),
  page("/pods/$id/ports", () => import("./pages/pods/ports.tsx"), "PodPorts"),
  page("/pods/$id/settings", () => import("./pages/pods/settings.tsx"), "PodSettings"),
  page("/clusters", () => import("./pages/clusters/list.tsx"), "ClusterList"),
  page("/clusters/new", () => import("./pages/clusters/create.tsx"), "CreateCluster"),
  page("/clusters/$id", () => import("./pages/clusters/page.tsx"), "ClusterPage"),
  page("/templates", () => import("./pages/templates/list.tsx"), "TemplateList"),
  page("/templates/new", () => import("./pages/templates/form.tsx"), "CreateTemplate"),
  page("/templates/$id", () => import("./pages/templates/page.tsx"), "TemplatePage"),
  page("/volumes", () => import("./pages/volumes/list.tsx"), "VolumeList"),
  page("/volumes/new", () => import("./pages/volumes/form.tsx"), "CreateVolume"),
  page("/volumes/$id", () => import("./pages/volumes/page.tsx"), "VolumePage"),
  page("/volumes/$id/files", () => import("./pages/volumes/files.tsx"), "VolumeFiles"),
  page("/volumes/$id/s3", () => import("./pages/volumes/page.tsx"), "VolumeS3"),
  page("/registries", () => import("./pages/registries/list.tsx"), "RegistryList"),
  page("/registries/new", () => import("./pages/registries/form.tsx"), "CreateRegistry"),
  page("/registries/$id", () => import("./pages/registries/page.tsx"), "RegistryPage"),
  page("/secrets", () => import("./pages/secrets/list.tsx"), "SecretList"),
  page("/secrets/new", () => import("./pages/secrets/form.tsx"), "CreateSecret"),
  page("/secrets/$id", () => import("./pages/secrets/page.tsx"), "SecretPage"),
  page("/catalog", () => import("./pages/catalog/page.tsx"), "CatalogPage"),
  page("/billing", () => import("./pages/billing/page.tsx"), "BillingPage"),
  page("/audit", () => import("./pages/audit/list.tsx"), "AuditList"),
  page("/machines", () => import("./pages/machines/list.tsx"), "MachineList"),
  page("/machines/$id", () => import("./pages/machines/page.tsx"), "MachinePage"),
  page("/account", () => import("./pages/account/profile.tsx"), "Profile"),
  page("/account/people", () => import("./pages/account/people.tsx"), "People"),
  page("/account/keys", () => import("./pages/account/api-keys.tsx"), "ApiKeys"),
  page("/account/ssh-keys", () => import("./pages/account/ssh-keys.tsx"), "SshKeys"),
  page("/account/s3-keys", () => import("./pages/account/s3-keys.tsx"), "S3Keys"),
  page("/code", () => import("./pages/account/code.tsx"), "Code"),
  page("/account/limits", () => import("./pages/account/limits.tsx"), "Limits"),
  page("/installation", () => import("./pages/installation/health.tsx"), "InstallationHealth"),
  page("/installation/accounts", () => import("./pages/installation/accounts.tsx"), "Accounts"),
  page("/installation/models", () => import("./pages/installation/models.tsx"), "Models"),
  page("/installation/prices", () => import("./pages/installation/prices.tsx"), "Prices"),
  page("/installation/duties", () => import("./pages/installation/duties.tsx"), "Duties"),
  createRoute({ getParentRoute: () => inside, path: "$", component: NotFound }),
] as const;

export const routes = root.addChildren([
  inside.addChildren(pages),
  outside("/sign-in", () => import("./pages/sign-in/page.tsx"), "SignIn"),
  outside("/sign-in/provider", () => import("./pages/sign-in/provider.tsx"), "ProviderReturn"),
  outside("/invitation", () => import("./pages/sign-in/invitation.tsx"), "Invitation"),
]);
