/** Templates in GraphQL: saved as new or under an id, and deleted by name. */
import { templateDialect } from "../../resources/templates/flat.ts";
import type { SeenTemplate } from "../../resources/templates/followers.ts";
import { templateOperations } from "../../resources/templates/operations.ts";
import type { TemplateService } from "../../resources/templates/service.ts";
import type { Arguments, GraphContext, OperationFields } from "./context.ts";
import { given, listOf, text } from "./fields.ts";
import { ALL_OF_AN_ACCOUNT, orNull } from "./finding.ts";
import { change, lookup } from "./operations.ts";
import { Void } from "./scalars.ts";
import { templateFlat, templateRow } from "./template-rows.ts";
import { PodTemplate, PodTemplateInput, SaveTemplateInput, type TemplateRow } from "./template-types.ts";
import { templateWords } from "./words.ts";

type NewTemplate = Parameters<TemplateService["create"]>[1];

interface Wanted {
  isRunpod?: boolean;
  isServerless?: boolean;
  name?: string;
}

export const templateQueries = {
  podTemplate: {
    type: PodTemplate,
    args: { id: { type: text } },
    operation: lookup(templateOperations.getTemplate),
    params: ({ id }) => ({ id: String(id ?? "") }),
    async answer({ caller, params }, { services }) {
      const found = await orNull(services.templates.visible(caller, params.id!, { bound: true }));
      return found && templateRow(found);
    },
  },
  podTemplates: {
    type: listOf(PodTemplate),
    args: { input: { type: PodTemplateInput } },
    operation: lookup(templateOperations.listPublicTemplates),
    answer: async (_call, context, { input }) => publicOnes(context, given(input, "name")),
  },
} satisfies OperationFields;

/** Lists official templates, public ones of accounts, or both. */
async function publicOnes({ caller, services }: GraphContext, wanted: Wanted): Promise<TemplateRow[]> {
  const found: SeenTemplate[] = [];
  if (wanted.isRunpod !== false) found.push(...(await services.templates.listPublic(caller, "official")));
  if (wanted.isRunpod !== true)
    for (const source of ["verified", "community"] as const)
      found.push(...(await services.templates.listPublic(caller, source)));
  return found.filter((one) => isMeant(one, wanted)).map(templateRow);
}

const isMeant = ({ doc }: SeenTemplate, { isServerless = doc.serverless, name = doc.name }: Wanted) =>
  doc.serverless === isServerless && doc.name === name;

export const ownTemplates = {
  podTemplates: {
    type: listOf(PodTemplate),
    operation: lookup(templateOperations.listTemplates),
    async answer({ caller }, { services }) {
      return (await services.templates.list(caller, ALL_OF_AN_ACCOUNT)).items.map(templateRow);
    },
  },
} satisfies OperationFields;

const creatingTemplate = change(templateOperations.createTemplate, templateDialect.create);
const changingTemplate = change(templateOperations.updateTemplate, templateDialect.update);

/** The id to save under, or undefined to create something new. */
export const savedId = ({ input }: Arguments): string | undefined => input?.id || undefined;

export const templateMutations = {
  /** One field for two operations: with an id it updates, without one it creates. */
  saveTemplate: {
    type: PodTemplate,
    args: { input: { type: SaveTemplateInput } },
    operation: creatingTemplate,
    words: templateWords,
    meant: (args) => (savedId(args) === undefined ? creatingTemplate : changingTemplate),
    params: (args) => given({ id: savedId(args) }) as Record<string, string>,
    body: ({ input }) => templateFlat(input),
    async answer({ caller, params, body }, { services: { templates } }) {
      if (params.id === undefined)
        return templateRow(await templates.create(caller, templateDialect.terms(body) as NewTemplate));
      const { doc } = await templates.visible(caller, params.id, { bound: true });
      return templateRow(
        await templates.update(caller, params.id, templateDialect.terms(body, doc), { reaches: true }),
      );
    },
  },
  deleteTemplate: {
    type: Void,
    args: { templateName: { type: text } },
    operation: change(templateOperations.deleteTemplate),
    // Clients delete by name, but the audit log records the id, as for everything else.
    async params({ templateName }, { caller, services }) {
      const named = await orNull(services.templates.named(caller, String(templateName ?? "")));
      return { id: named?.id ?? "" };
    },
    answer: ({ caller, params }, { services }) => services.templates.remove(caller, params.id!, { bound: true }),
  },
} satisfies OperationFields;
