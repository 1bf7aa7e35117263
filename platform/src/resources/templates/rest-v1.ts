/** Answers the REST v1 operations on templates. */
import { unpaged } from "../../kernel/cursor.ts";
import type { Flat } from "../../kernel/flat.ts";
import { inFlatWords } from "../../kernel/flat-words.ts";
import type { Call, Handlers } from "../../kernel/operation.ts";
import { containerFrom } from "../container/face-v1.ts";
import { v1Defaults } from "../v1-defaults.ts";
import { templateDialect } from "./flat.ts";
import { officialTemplate } from "./official.ts";
import { type templateOperationsV1, templateShapes } from "./operations-v1.ts";
import type { TemplateItem, TemplateService } from "./service.ts";

type Operations = typeof templateOperationsV1;

export function templateHandlersV1(templates: TemplateService): Handlers<Operations> {
  const update = worded(async ({ caller, params, body }: Call<Operations["updateTemplate"]>) => {
    const { doc } = await templates.visible(caller, params.templateId!, BOUND);
    const terms = templateShapes.updated(saidIn(body), doc);
    return shownTemplate(await templates.update(caller, params.templateId!, terms, { reaches: true }));
  });
  return {
    async listTemplates({ caller, query }) {
      const found: Pick<TemplateItem, "id" | "doc">[] = await unpaged((asked) => templates.list(caller, asked));
      if (query.includeEndpointBoundTemplates) found.push(...(await templates.listBound(caller)));
      if (query.includePublicTemplates)
        for (const source of ["verified", "community"] as const)
          found.push(...(await templates.listPublic(caller, source)));
      if (query.includeRunpodTemplates) found.push(...(await templates.listPublic(caller, "official")));
      return distinct(found).map(shownTemplate);
    },
    createTemplate: worded(async ({ caller, body }: Call<Operations["createTemplate"]>) => {
      const terms = templateShapes.created({ ...defaultsFor(body), ...saidIn(body) });
      return shownTemplate(await templates.create(caller, terms as Parameters<TemplateService["create"]>[1]));
    }),
    getTemplate: async ({ caller, params }) =>
      shownTemplate(await templates.visible(caller, params.templateId!, BOUND)),
    updateTemplate: update,
    updateTemplateByPost: update,
    deleteTemplate: ({ caller, params }) => templates.remove(caller, params.templateId!, BOUND),
  };
}

const worded = <Asked, T>(work: (call: Asked) => Promise<T>) => inFlatWords(templateDialect.fields, work);

/** A template without storage shows an empty path. Sent back, it says nothing. */
function saidIn(body: Flat): Flat {
  const { volumeMountPath, ...said } = containerFrom(body);
  return volumeMountPath ? { ...said, volumeMountPath } : said;
}

/** Includes the own containers of endpoints that follow no template, under the endpoints' ids. */
const BOUND = { bound: true };

/** Removes duplicates: the account of the installation's owner finds its own public templates twice. */
const distinct = <T extends { id: string }>(items: T[]): T[] => [
  ...new Map(items.map((item) => [item.id, item])).values(),
];

/** Workers and Pods without GPUs have no persistent storage, so they get no default size for it. */
function defaultsFor({ isServerless, category }: Flat): Flat {
  const { volumeInGb, ...others } = v1Defaults.template;
  return isServerless === true || category === "CPU" ? others : { volumeInGb, ...others };
}

export function shownTemplate({ id, doc }: Pick<TemplateItem, "id" | "doc">): Flat {
  const { containerRegistryAuthId: auth, volumeInGb = 0, volumeMountPath = "", ...plain } = templateShapes.of(doc);
  return {
    id,
    ...plain,
    ...(auth !== null && { containerRegistryAuthId: auth }),
    ...{ volumeInGb, volumeMountPath, isRunpod: officialTemplate(id) !== undefined, earned: 0, runtimeInMin: 0 },
  };
}
