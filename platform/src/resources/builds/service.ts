/** Builds of an endpoint's image: none. */
import { decodeCursor, pageOf } from "../../kernel/cursor.ts";
import type { Call, Handlers } from "../../kernel/operation.ts";
import { problem } from "../../kernel/problem.ts";
import type { EndpointService } from "../endpoints/service.ts";
import type { buildOperations } from "./operations.ts";

type Operations = typeof buildOperations;

export class BuildService implements Handlers<Operations> {
  readonly #endpoints: EndpointService;

  constructor(parts: { endpoints: EndpointService }) {
    this.#endpoints = parts.endpoints;
  }

  async listEndpointBuilds({ caller, params, query }: Call<Operations["listEndpointBuilds"]>) {
    const { id } = await this.#endpoints.own(caller, params.id!);
    const listing = `builds of ${id}`;
    decodeCursor(listing, query.cursor);
    return { builds: [], pagination: pageOf(listing, [], 1).pagination };
  }

  async getEndpointBuild({ caller, params }: Call<Operations["getEndpointBuild"]>): Promise<never> {
    await this.#endpoints.own(caller, params.id!);
    throw problem("not-found", "build not found");
  }
}
