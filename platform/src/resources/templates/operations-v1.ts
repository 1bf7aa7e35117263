/** Operations on templates in REST v1. */
import { flatOperationsOn } from "../../kernel/flat-operations-on.ts";
import { type Face, flatShapes } from "../../kernel/flat-shapes.ts";
import type { Operations } from "../../kernel/operation.ts";
import { t } from "../../kernel/schema.ts";
import { shownContainer, takenContainer } from "../container/face-v1.ts";
import { v1Defaults } from "../v1-defaults.ts";
import { templateDialect } from "./flat.ts";
import { Template } from "./model.ts";

const templateFace: Face = {
  called: "Template",
  assigned: {
    id: Template.record.properties.id,
    isRunpod: t.Boolean({ description: "Whether it comes with the server." }),
    earned: t.Number({ description: "Nothing is earned here: always 0." }),
    runtimeInMin: t.Integer({ description: "Not counted: always 0." }),
  },
  taken: {
    ...takenContainer,
    volumeMountPath: t.Optional(
      t.String({ maxLength: 512, description: "Where that storage is; the empty text says nothing." }),
    ),
  },
  once: ["category", "isServerless"],
  shown: {
    ...shownContainer,
    volumeInGb: t.Integer({ minimum: 0, description: "Storage of its Pods in GB; 0 for none." }),
    volumeMountPath: t.String({ description: "Where that storage is; empty without it." }),
  },
  always: [
    ...["id", "name", "imageName", "category", "containerDiskInGb", "volumeInGb", "volumeMountPath", "ports", "env"],
    ...[
      "dockerEntrypoint",
      "dockerStartCmd",
      "isPublic",
      "isServerless",
      "isRunpod",
      "readme",
      "earned",
      "runtimeInMin",
    ],
  ],
  defaults: v1Defaults.template,
};

export const templateShapes = flatShapes(Template, templateDialect, templateFace);

const included = (description: string) => t.Optional(t.Boolean({ default: false, description }));

const on = flatOperationsOn(
  templateShapes,
  "/v1/templates",
  { tag: "Templates", scope: "templates", one: "a template", many: "templates", id: "templateId" },
  t.Object({
    includeEndpointBoundTemplates: included("Those of endpoints that were made without one, too."),
    includePublicTemplates: included("Public ones of other accounts, too."),
    includeRunpodTemplates: included("Those that come with the server, too."),
  }),
);

export const templateOperationsV1 = {
  listTemplates: on.list({ description: "The account's own, newest first, and behind them what else is asked for." }),
  createTemplate: on.create({ description: "Names are unique.", refuses: ["not-found"] }),
  getTemplate: on.get({ description: "One of the account's own, a public one, or one that comes with the server." }),
  updateTemplate: on.update({ description: "Endpoints that were made from it through this API change with it." }),
  updateTemplateByPost: on.updateByPost(),
  deleteTemplate: on.remove({ refuses: ["rule-broken"] }),
} satisfies Operations;
