/** Serverless endpoints in GraphQL: saved as new or under an id, with a template that they follow or a container of their own. */
import { closed, name, t } from "../../kernel/schema.ts";
import { endpointDialect } from "../../resources/endpoints/flat.ts";
import { endpointOperations } from "../../resources/endpoints/operations.ts";
import { v1Defaults } from "../../resources/v1-defaults.ts";
import type { Arguments, OperationFields } from "./context.ts";
import { endpointFlat, onCpus } from "./endpoint-inputs.ts";
import { endpointRow } from "./endpoint-rows.ts";
import { EndpointInput, UpdateEndpointTemplateInput } from "./endpoint-types.ts";
import { given, listOf, text } from "./fields.ts";
import { ALL_OF_AN_ACCOUNT, orNull } from "./finding.ts";
import { change, lookup } from "./operations.ts";
import { Endpoint } from "./pod-types.ts";
import { Void } from "./scalars.ts";
import { savedId } from "./templates.ts";
import { endpointWords } from "./words.ts";

export const ownEndpoints = {
  endpoints: {
    type: listOf(Endpoint),
    operation: lookup(endpointOperations.listEndpoints),
    async answer({ caller }, { services }) {
      return (await services.endpoints.list(caller, ALL_OF_AN_ACCOUNT)).items.map(endpointRow);
    },
  },
  endpoint: {
    type: Endpoint,
    args: { id: { type: text } },
    operation: lookup(endpointOperations.getEndpoint),
    params: ({ id }) => ({ id: id ?? "" }),
    async answer({ caller, params }, { services }) {
      const found = await orNull(services.endpoints.own(caller, params.id!));
      return found && endpointRow(found);
    },
  },
} satisfies OperationFields;

/** An endpoint follows the template that it names. Names must be unique, as with every creation on the older surfaces. */
const HOW = { follows: true, uniqueName: true } as const;

/** A template sent along with an endpoint gives its own container a name as a template. A release of the hub is noted. */
const called = { templateName: t.Optional(name()), hubReleaseId: t.Optional(t.String({ maxLength: 512 })) };
const creating = change(endpointOperations.createEndpoint, closed({ ...endpointDialect.create.properties, ...called }));
const changing = change(endpointOperations.updateEndpoint, closed({ ...endpointDialect.update.properties, ...called }));

export const endpointMutations = {
  /** One field for two operations: with an id it updates, without one it creates. */
  saveEndpoint: {
    type: Endpoint,
    args: { input: { type: EndpointInput } },
    operation: creating,
    words: endpointWords,
    meant: (args) => (savedId(args) === undefined ? creating : changing),
    params: (args) => given({ id: savedId(args) }) as Record<string, string>,
    body: ({ input }: Arguments) => ({
      ...endpointFlat(input, { isNew: savedId({ input }) === undefined }),
      ...given({ templateName: input?.template?.name }, "templateName"),
      ...given({ hubReleaseId: input?.hubReleaseId }, "hubReleaseId"),
    }),
    async answer({ caller, params, body: { templateName, hubReleaseId, ...flat } }, { services: { endpoints, hub } }) {
      const also = given({ templateName });
      if (params.id === undefined) {
        const terms = endpointDialect.terms({ executionTimeoutMs: v1Defaults.endpoint.executionTimeoutMs, ...flat });
        if (hubReleaseId === undefined) return endpointRow(await endpoints.create(caller, { ...terms, ...also }, HOW));
        const made = await hub.completed(caller, { ...terms, ...also }, hubReleaseId);
        return endpointRow(await endpoints.create(caller, made.terms, { ...HOW, also: made.also }));
      }
      const { doc } = await endpoints.own(caller, params.id);
      const terms = endpointDialect.terms(doc.cpu ? onCpus(flat) : flat, doc);
      return endpointRow(await endpoints.update(caller, params.id, { ...terms, ...also }, HOW));
    },
  },
  updateEndpointTemplate: {
    type: Endpoint,
    args: { input: { type: UpdateEndpointTemplateInput } },
    operation: change(endpointOperations.updateEndpoint, closed({ templateId: name() })),
    params: ({ input }) => ({ id: input?.endpointId ?? "" }),
    body: ({ input }) => given({ templateId: input?.templateId }),
    async answer({ caller, params, body }, { services }) {
      return endpointRow(await services.endpoints.update(caller, params.id!, body, HOW));
    },
  },
  deleteEndpoint: {
    type: Void,
    args: { id: { type: text } },
    operation: change(endpointOperations.deleteEndpoint),
    params: ({ id }) => ({ id: id ?? "" }),
    answer: ({ caller, params }, { services }) => services.endpoints.remove(caller, params.id!),
  },
} satisfies OperationFields;
