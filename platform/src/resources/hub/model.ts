/** The hub: listings that describe endpoints and Pods to deploy, and what became of those that were deployed. */
import type { Kept } from "../../kernel/document.ts";
import { lifecycle, type Moved } from "../../kernel/lifecycle.ts";
import { closed, dateTime, name, nullable, oneOf, type Static, t } from "../../kernel/schema.ts";

export const listingTypes = ["SERVERLESS", "POD"] as const;
export type ListingType = (typeof listingTypes)[number];
export const variableTypes = ["string", "number", "boolean", "huggingface"] as const;
export type VariableType = (typeof variableTypes)[number];

export const HUB_LIMITS = {
  title: 191,
  description: 4096,
  text: 8192,
  variables: 200,
  options: 200,
  presets: 50,
  tests: 20,
  tags: 20,
  ports: 20,
  /** All values of a deployment together stay below the limit of a body. */
  value: 65_536,
};

const LONGEST_ID = 256;

const gpu = t.Object({
  gpuIds: nullable(t.String({ description: "GPU pools and types as hub repositories write them; null for any." })),
  count: t.Integer({ minimum: 1 }),
  allowedCudaVersions: t.Array(t.String()),
});

export const HubListing = t.Object(
  {
    id: t.String({ description: "Its owner and its name, with a dot between." }),
    title: t.String(),
    description: t.String(),
    type: oneOf(listingTypes, { description: "Whether an endpoint or a Pod is deployed." }),
    category: t.String(),
    tags: t.Array(t.String()),
    owner: t.String(),
    name: t.String(),
    iconUrl: nullable(t.String({ description: "An address of somebody else. The console does not load it." })),
    image: nullable(t.String({ description: "Null if whoever deploys it has to name one." })),
    runsOn: oneOf(["CPU", "GPU"]),
    releaseId: t.String({ description: "The release that is deployed now; `hubReleaseId` of GraphQL." }),
    version: t.String({ description: "What that release is called: a tag, a commit or a digest." }),
    releasedAt: dateTime("When the release was made."),
    tests: t.Integer({ minimum: 0, description: "How many tests prove that it works." }),
    deploys: t.Integer({ minimum: 0, description: "Endpoints and Pods of all accounts that were deployed from it." }),
  },
  { $id: "HubListing" },
);
export type HubListing = Static<typeof HubListing>;

const HubVariable = t.Object({
  key: t.String({ description: "The name of the environment variable." }),
  name: t.String({ description: "What people call it." }),
  type: oneOf(variableTypes),
  description: t.String(),
  default: nullable(t.String({ description: "As the program gets it." })),
  required: t.Boolean(),
  advanced: t.Boolean({ description: "Whether most people leave it alone." }),
  options: t.Array(t.Object({ label: t.String(), value: t.String() })),
  min: t.Optional(t.Number()),
  max: t.Optional(t.Number()),
  trueValue: t.Optional(t.String()),
  falseValue: t.Optional(t.String()),
});

export const HubListingDetails = t.Object(
  {
    ...HubListing.properties,
    readme: t.String({ description: "Markdown of its author." }),
    endpointType: oneOf(["QUEUE", "LOAD_BALANCER"]),
    args: t.String(),
    disk: t.Integer({ minimum: 1, description: "GB." }),
    ports: t.Array(t.String()),
    gpu: { ...nullable(gpu), description: "Null if it runs on CPUs." },
    cpu: nullable(t.Object({ id: t.String(), vcpuCount: t.Integer({ minimum: 2 }) })),
    env: t.Record(t.String(), t.String(), { description: "Variables that always have the same value." }),
    variables: t.Array(HubVariable),
    presets: t.Array(t.Object({ name: t.String(), values: t.Record(t.String(), t.String()) })),
    testNames: t.Array(t.String()),
  },
  { $id: "HubListingDetails" },
);
export type HubListingDetails = Static<typeof HubListingDetails>;

const LARGEST = 1e15;
const value = t.Union([
  t.String({ maxLength: HUB_LIMITS.value }),
  t.Number({ minimum: -LARGEST, maximum: LARGEST }),
  t.Boolean(),
]);

/** What somebody chooses who deploys a listing. All of it is optional: the listing has the rest. */
export const DeployHubListingRequest = closed(
  {
    name: t.Optional(name({ description: "Of the endpoint or Pod; the listing's title by default." })),
    preset: t.Optional(name({ description: "A preset of the listing, whose values are taken where you give none." })),
    variables: t.Optional(
      t.Record(t.String({ maxLength: LONGEST_ID }), value, {
        maxProperties: HUB_LIMITS.variables,
        description: "Values of the listing's variables, by their keys.",
      }),
    ),
    env: t.Optional(
      t.Record(t.String({ pattern: "^[^=\\u0000]+$" }), t.String({ maxLength: HUB_LIMITS.value }), {
        maxProperties: HUB_LIMITS.variables,
        additionalProperties: false,
        description: "Further environment variables that the listing does not know.",
      }),
    ),
    image: t.Optional(
      t.String({ minLength: 1, maxLength: 8192, description: "In place of the listing's.", "x-who": "host-images" }),
    ),
    registry: t.Optional(name({ description: "Id of a registry credential for the image." })),
    disk: t.Optional(t.Integer({ minimum: 1, maximum: 1_000_000, description: "GB of container disk." })),
    gpuIds: t.Optional(
      t.String({ minLength: 1, maxLength: 4096, description: "GPU pools and types, such as `ADA_24,AMPERE_48`." }),
    ),
    gpuCount: t.Optional(t.Integer({ minimum: 1, maximum: 1024 })),
    workersMin: t.Optional(t.Integer({ minimum: 0, maximum: 10_000, description: "Of an endpoint." })),
    workersMax: t.Optional(
      t.Integer({ minimum: 0, maximum: 10_000, description: "Of an endpoint.", "x-who": "quota" }),
    ),
    test: t.Optional(
      t.Boolean({
        default: true,
        description: "Whether the listing's tests run on it. Their jobs cost what jobs cost.",
      }),
    ),
  },
  { $id: "DeployHubListingRequest" },
);
export type DeployHubListing = Static<typeof DeployHubListingRequest>;

export type HubTestState = "NONE" | "RUNNING" | "PASSED" | "FAILED";

/** A test is run again as often as somebody wants. */
export const hubTestLifecycle = lifecycle<HubTestState, "run" | "pass" | "fail">({
  of: "hub test",
  states: {
    NONE: "Nothing was tested.",
    RUNNING: "The tests of the listing are under way.",
    PASSED: "Every test did what the listing promises.",
    FAILED: "At least one test did not.",
  },
  begins: ["NONE", "RUNNING"],
  moves: {
    run: { from: ["NONE", "PASSED", "FAILED"], to: "RUNNING", asked: "serverless:write" },
    pass: { from: ["RUNNING"], to: "PASSED" },
    fail: { from: ["RUNNING"], to: "FAILED" },
  },
  revivals: ["run"],
});

const outcomes = ["WAITING", "PASSED", "FAILED"] as const;

export const HubDeployment = t.Object(
  {
    id: t.String({ description: "Id of the endpoint or Pod." }),
    type: oneOf(listingTypes),
    listingId: t.String(),
    title: t.String({ description: "Of the listing, when it was deployed." }),
    releaseId: t.String({ description: "The release that it was made from." }),
    updateTo: nullable(t.String({ description: "A release that the listing has now instead; null if it has none." })),
    test: oneOf(hubTestLifecycle.states),
    testReason: nullable(t.String({ description: "Why a test waits, or why one failed, in words for people." })),
    tests: t.Array(
      t.Object({
        name: t.String(),
        outcome: oneOf(outcomes),
        reason: nullable(t.String()),
        jobId: nullable(t.String({ description: "The job that tested it." })),
      }),
    ),
    testedAt: nullable(dateTime("When the last test ended.")),
    createdAt: dateTime("When it was deployed."),
  },
  { $id: "HubDeployment" },
);
export type HubDeployment = Static<typeof HubDeployment>;

/** A test as it is kept with a deployment, since the listing may change or go. */
export type KeptCase = {
  name: string;
  /** The body of a job, as JSON text. */
  body?: string;
  timeoutMs?: number;
  /** What the output must have, as JSON text. */
  expected?: string;
  /** A request to a port of a Pod. */
  request?: { port: number; path: string; status: number; contains?: string };
  outcome: (typeof outcomes)[number];
  reason: string | null;
  jobId: string | null;
};

export type KeptDeployment = {
  type: ListingType;
  listing: string;
  release: string;
  title: string;
  test: Moved<HubTestState>;
  cases: KeptCase[];
  startedAt: number | null;
  testedAt: number | null;
};

/** The id is that of the endpoint or Pod. */
export const hubDeployments: Kept<KeptDeployment> = {
  kind: "hub-deployment",
  called: "deployment",
  v: 1,
  listed: ({ listing, test }) => ({ listing, testing: test === "RUNNING" ? "yes" : undefined }),
};

export const HubSource = t.Object(
  {
    kind: oneOf(["folder", "git"]),
    place: t.String({ description: "A folder, or the address of a Git repository." }),
    listings: t.Integer({ minimum: 0 }),
    readAt: nullable(dateTime("When it was last read without trouble.")),
    trouble: nullable(t.String({ description: "Why its newest state is not here; what was read before stays." })),
    faults: t.Array(
      t.Object({
        file: t.String(),
        field: t.String({ description: "The field in the file, as a JSON path; empty if it is the whole file." }),
        why: t.String(),
      }),
      { description: "What was left out, and why." },
    ),
  },
  { $id: "HubSource" },
);
export type HubSource = Static<typeof HubSource>;
