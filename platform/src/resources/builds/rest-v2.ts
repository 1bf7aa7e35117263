/** Builds of an endpoint's image in REST v2. The list is always empty. */
import { decodeCursor, paginationOf } from "../../kernel/cursor.ts";
import type { Handlers } from "../../kernel/operation.ts";
import { problem } from "../../kernel/problem.ts";
import type { EndpointService } from "../endpoints/service.ts";
import type { buildOperations } from "./operations.ts";

export const buildHandlers = (endpoints: EndpointService): Handlers<typeof buildOperations> => ({
  async listEndpointBuilds({ caller, params, query }) {
    const { id } = await endpoints.own(caller, params.id!);
    const listing = `builds of ${id}`;
    decodeCursor(listing, query.cursor);
    return { builds: [], pagination: paginationOf(listing, undefined) };
  },
  async getEndpointBuild({ caller, params }) {
    await endpoints.own(caller, params.id!);
    throw problem("not-found", "build not found");
  },
});
