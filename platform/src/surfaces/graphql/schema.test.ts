/** Rules for the whole schema, which keep clients' documents valid however they declare their variables. */
import { type GraphQLInputType, isInputObjectType, isListType, isNonNullType, isObjectType } from "graphql";
import { expect, test } from "vitest";
import { graphSchema } from "./schema.ts";

const types = Object.values(graphSchema.getTypeMap()).filter(({ name }) => !name.startsWith("__"));

function strict(type: GraphQLInputType): boolean {
  return isNonNullType(type) || (isListType(type) && strict(type.ofType));
}

test("everything that can be said may be left out, and lists may hold null", () => {
  const said = types.flatMap((type) => {
    if (isInputObjectType(type))
      return Object.values(type.getFields()).map((field) => ({ at: `${type.name}.${field.name}`, of: field.type }));
    if (!isObjectType(type)) return [];
    return Object.values(type.getFields()).flatMap((field) =>
      field.args.map((arg) => ({ at: `${type.name}.${field.name}(${arg.name})`, of: arg.type })),
    );
  });
  expect(said.length).toBeGreaterThan(100);
  expect(said.filter(({ of }) => strict(of)).map(({ at }) => at)).toEqual([]);
});

test("inputs have the names by which clients declare their variables", () => {
  const names =
    `CloudTypeEnum CpuFlavorInput SpecificsInput GpuLowestPriceInput GpuTypeFilter GpuAvailabilityInput PodFilter
    PodFindAndDeployOnDemandInput PodRentInterruptableInput PodResumeInput PodBidResumeInput PodStopInput PodTerminateInput
    PodEditJobInput deployCpuPodInput SaveTemplateInput PodTemplateInput EndpointInput UpdateEndpointTemplateInput
    SaveRegistryAuthInput UpdateRegistryAuthInput CreateNetworkVolumeInput UpdateNetworkVolumeInput DeleteNetworkVolumeInput
    CreateClusterInput DeleteClusterInput UpdateUserSettingsInput SecretCreateInput EnvironmentVariableInput SavingsPlanInput
    ListingsInput Port DateTime`.split(/\s+/);
  expect(names.filter((name) => graphSchema.getType(name) === undefined)).toEqual([]);
});

test("the user has every field that clients read", () => {
  const names =
    `id authId email pubKey clientBalance currentSpendPerHr spendLimit minBalance hostBalance notifyPodsStale
    notifyPodsGeneral notifyLowBalance notifyOther signedTermsOfService multiFactorEnabled underBalance isTeam
    maxServerlessConcurrency machineQuota pods endpoints endpoint podTemplates networkVolumes containerRegistryCreds secrets
    datacenters apiKeys cluster clusters flashApps serverlessDiscount machines spendDetails`.split(/\s+/);
  const user = graphSchema.getType("User");
  const fields = isObjectType(user) ? Object.keys(user.getFields()) : [];
  expect(names.filter((name) => !fields.includes(name))).toEqual([]);
});
