/** The kept documents of each resource follow its model: in their types, and in the defaults at creation. */
import { describe, expect, expectTypeOf, test } from "vitest";
import { unsaidOf } from "../kernel/resource.ts";
import { isOptional, type Static, type TObject, type TSchema } from "../kernel/schema.ts";
import { ApiKey, type KeptApiKey } from "./account/model.ts";
import { Cluster, type KeptCluster } from "./clusters/model.ts";
import type { EndpointTerms } from "./endpoints/fields.ts";
import { Endpoint, type KeptEndpoint } from "./endpoints/model.ts";
import type { PodTerms } from "./pods/fields.ts";
import { type KeptPod, Pod } from "./pods/model.ts";
import { Delegation, type KeptDelegation, type KeptRegistry, Registry } from "./registries/model.ts";
import { type KeptS3Key, S3Key } from "./s3-keys/model.ts";
import { type KeptSecret, Secret } from "./secrets/model.ts";
import type { TemplateTerms } from "./templates/fields.ts";
import { type KeptTemplate, Template } from "./templates/model.ts";
import { type KeptNetworkVolume, NetworkVolume } from "./volumes/model.ts";

interface Kit {
  name: string;
  create: TObject;
  kept: TObject;
}

/** The models, each with the fields that its service fills in if nobody sets them. */
const models: [Kit, string[]][] = [
  [ApiKey, []],
  [Cluster, []],
  [Delegation, []],
  [Endpoint, ["name", "image", "workers", "scaling"]],
  [NetworkVolume, ["type"]],
  [Pod, ["image", "mounts", "idleTimeout"]],
  [Registry, []],
  [S3Key, []],
  [Secret, []],
  [Template, []],
];

describe.each(models)("what is kept of $name", (model, ofTheService) => {
  test("is said at creation, or has a default in the model", () => {
    const { create, kept } = model;
    const isAlways = (name: string) => !isOptional(kept.properties[name] as TSchema);
    const isLeftOut = (name: string) => name in create.properties && isOptional(create.properties[name] as TSchema);
    const promised = Object.keys(kept.properties).filter((name) => isAlways(name) && isLeftOut(name));
    const given = Object.keys(unsaidOf(model)).filter((name) => promised.includes(name));
    expect(promised.filter((name) => !given.includes(name)).sort()).toEqual(ofTheService.toSorted());
  });

  test("is not shared: who changes what one has changes nobody else's", () => {
    const [one, other] = [unsaidOf(model), unsaidOf(model)] as Record<string, unknown>[];
    for (const [name, value] of Object.entries(one!))
      if (typeof value === "object" && value !== null) expect(value).not.toBe(other![name]);
  });
});

/** Fields of a model that a type lacks. */
type Missing<Model extends { kept: TSchema }, Type> = Exclude<keyof Static<Model["kept"]>, keyof Type>;

test("a field of a model is in what is kept, and in what a caller says, without being named there", () => {
  expectTypeOf<Missing<typeof ApiKey, KeptApiKey>>().toBeNever();
  expectTypeOf<Missing<typeof Cluster, KeptCluster>>().toBeNever();
  expectTypeOf<Missing<typeof Delegation, KeptDelegation>>().toBeNever();
  expectTypeOf<Missing<typeof Endpoint, KeptEndpoint>>().toBeNever();
  expectTypeOf<Missing<typeof Endpoint, EndpointTerms>>().toBeNever();
  expectTypeOf<Missing<typeof NetworkVolume, KeptNetworkVolume>>().toBeNever();
  expectTypeOf<Missing<typeof Pod, KeptPod>>().toBeNever();
  expectTypeOf<Missing<typeof Pod, PodTerms>>().toBeNever();
  expectTypeOf<Missing<typeof Registry, KeptRegistry>>().toBeNever();
  expectTypeOf<Missing<typeof S3Key, KeptS3Key>>().toBeNever();
  expectTypeOf<Missing<typeof Secret, KeptSecret>>().toBeNever();
  expectTypeOf<Missing<typeof Template, KeptTemplate>>().toBeNever();
  expectTypeOf<Missing<typeof Template, TemplateTerms>>().toBeNever();
});
