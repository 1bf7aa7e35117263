/** Makes the OpenAPI document of REST v1 from the same operations that the router mounts. */
import type { Operations } from "../../kernel/operation.ts";
import { t } from "../../kernel/schema.ts";
import { documentOf } from "../http/openapi-document.ts";
import type { Json } from "../http/openapi-schemas.ts";
import { reasons, tagDescriptions } from "../rest-v2/openapi.ts";
import { restV1Operations } from "./operations.ts";
import { restV1Statuses } from "./refusals.ts";
import { retirementHeaderDescriptions } from "./retirement.ts";

const Refusal = t.Object(
  {
    message: t.String({ description: "Why, for people, with every validation failure." }),
    error: t.String({ description: "The same." }),
    status: t.Integer({ description: "HTTP status code." }),
  },
  { $id: "Error" },
);

export function restV1Document(served: Operations = restV1Operations): Json {
  return documentOf(served, {
    info: {
      title: "Millrace API, version 1",
      version: "0.1.0",
      description:
        "REST v1 of Millrace, for clients that were written for it. It is deprecated: use REST v2 for what is new.",
    },
    tags: tagDescriptions,
    statuses: restV1Statuses,
    reasons: {
      ...reasons,
      400: "The request is malformed, does not fit its schema or the present state, or conflicts with a rule of the service.",
      500: "There is no capacity for it now, or the server has a fault.",
    },
    refused: { mediaType: "application/json", schema: Refusal },
    headers: retirementHeaderDescriptions,
    idOf: (name) => name.charAt(0).toUpperCase() + name.slice(1),
    lists: "repeated",
  });
}
