/** Makes the OpenAPI document of REST v2 from the same operations that the router mounts. */
import { operations } from "../../contract.ts";
import type { Operations } from "../../kernel/operation.ts";
import { t } from "../../kernel/schema.ts";
import { documentOf } from "../http/openapi-document.ts";
import type { Json } from "../http/openapi-schemas.ts";
import { problemStatuses } from "../http/problem-json.ts";

export const reasons: Record<number, string> = {
  400: "The request is malformed, or conflicts with a rule of the service.",
  401: "The bearer token is missing, malformed, expired or invalid.",
  402: "The account or the API key has reached its spend limit. Nothing new starts, and nothing that runs is ended.",
  403: "The token is valid, but lacks access to the resource or action.",
  404: "The resource does not exist or is not accessible to the caller.",
  405: "The path exists, but not with this method; `Allow` lists the methods it has.",
  409: "The request conflicts with the present state, such as a name that is taken.",
  413: "The body is larger than this operation takes.",
  415: "The body is not JSON.",
  422: "The body or a parameter does not fit its schema; `errors` lists each failure.",
  416: "The range is not within the content; `Content-Range` says how long it is.",
  429: "A rate limit window is used up; `detail` names it.",
  503: "Something that this needs cannot be reached now; `detail` names it. Try again later.",
  507: "The content does not fit on the volume or the disk. Nothing of it is stored.",
};

export const tagDescriptions: Record<string, string> = {
  Account: "Secrets, SSH keys and API keys of the calling account.",
  People: "Who is in the account, in which role; invitations, sessions, and signing in to the console.",
  Pods: "Machines that people live on: GPU or CPU, with storage, ports and logs.",
  Billing: "What everything cost, in buckets of time.",
  Hub: "Listings of endpoints and Pods that are deployed with a few values, and what their tests showed. An addition of ours.",
  Models: "Files of models that the operator stores once and workers see read-only. An addition of ours.",
  Clusters: "Pods that are placed together and reach each other by private addresses.",
  Installation: "Nodes and machines, for the owner of the installation alone.",
  Registries: "Credentials for pulling private images.",
  Catalog:
    "GPU types, CPU flavors and data centers: what there is, what it costs, and what is free now; public templates.",
  "Network volumes": "Storage of a data center that Pods and workers share, and that outlives them.",
  Serverless: "Endpoints whose workers run a handler for each job.",
  "Public endpoints":
    "Endpoints of other accounts that the caller may use at a price, and what each caller of an own endpoint uses.",
  Templates: "Configurations that Pods and endpoints are made from.",
};

const ErrorObject = t.Object(
  {
    title: t.String({ description: "Short summary." }),
    status: t.Integer({ description: "HTTP status code." }),
    detail: t.String({ description: "Explanation for people." }),
    errors: t.Optional(t.Array(t.String(), { description: "Validation failures, each `<json path>: <message>`." })),
  },
  { $id: "Error" },
);

export function openApiDocument(served: Operations = operations): Json {
  return documentOf(served, {
    info: {
      title: "Millrace API",
      version: "2.0.0",
      description: "REST v2 of Millrace, an open, self-hosted cloud compute platform.",
    },
    tags: tagDescriptions,
    statuses: problemStatuses,
    reasons,
    refused: { mediaType: "application/problem+json", schema: ErrorObject },
  });
}
