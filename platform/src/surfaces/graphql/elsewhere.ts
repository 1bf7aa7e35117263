/** Things public clients ask for that a self-hosted installation lacks: lists are empty, the rest is refused with the reason. */
import { GraphQLID, GraphQLObjectType, type GraphQLOutputType, GraphQLScalarType } from "graphql";
import { timestamp } from "../../kernel/clock.ts";
import { problem } from "../../kernel/problem.ts";
import { catalogOperations } from "../../resources/catalog/operations.ts";
import type { PublicEndpointItem } from "../../resources/public-endpoints/service.ts";
import type { OperationFields } from "./context.ts";
import { all, flag, float, int, listOf, text } from "./fields.ts";
import { lookup } from "./operations.ts";
import { refusalOf } from "./refusals.ts";
import { Json, Void } from "./scalars.ts";

const object = (name: string, fields: Record<string, { type: GraphQLOutputType }>) =>
  new GraphQLObjectType({ name, fields });

const AiApiPublicConfig = object("AiApiPublicConfig", {
  ...all(text, "id", "aiApiId", "modelName", "displayName", "description", "metadata", "createdAt", "updatedAt"),
  ...all(flag, "isLive"),
});

const operation = lookup(catalogOperations.listGpuTypes);

export const publicConfigs = {
  allAiApiPublicConfigs: {
    type: listOf(AiApiPublicConfig),
    operation,
    answer: async ({ caller }, { services }) => (await services.publicEndpoints.list(caller)).map(publicConfig),
  },
} satisfies OperationFields;

/** Public endpoints that the caller may call or, without a key, those that are for everyone: public clients ask without one. */
function publicConfig({ id, createdAt, doc }: PublicEndpointItem) {
  const { title, description, price, limits } = doc;
  return {
    ...{ id, aiApiId: id, modelName: id, displayName: title || id, description, isLive: true },
    metadata: JSON.stringify({ price, limits }),
    ...{ createdAt: timestamp(createdAt), updatedAt: timestamp(createdAt) },
  };
}

/** Accepts any value for an input that no one reads. */
const anything = (name: string) => new GraphQLScalarType({ name });

/** A field with nothing behind it: the caller is told why. */
function refusing(
  type: GraphQLOutputType,
  args: Record<string, GraphQLScalarType>,
  why: string,
  code: "not-found" | "rule-broken" = "rule-broken",
) {
  return {
    type,
    args: Object.fromEntries(Object.entries(args).map(([name, of]) => [name, { type: of }])),
    resolve: () => {
      throw refusalOf(problem(code, why));
    },
  };
}

// A public client compares this message.
const NO_MODELS = "Model Repo feature is not enabled for this user";
const inputOf = (name: string) => ({ input: anything(name) });

const ModelUser = object(
  "ModelUser",
  all(text, "userId", "credentialType", "credentialReference", "status", "updatedAt"),
);
const ModelVersion = object("ModelVersion", {
  ...all(text, "uuid", "hash", "status", "createdAt", "updatedAt"),
  ...all(Json, "metadata"),
});
const Model = object("Model", {
  ...all(text, "id", "owner", "name", "provider", "status", "createdAt", "updatedAt"),
  ...all(listOf(ModelUser), "users"),
  ...all(listOf(ModelVersion), "versions"),
});
const UploadPart = object("ModelRepoUploadPart", { ...all(int, "partNumber"), ...all(text, "url", "expiresAt") });
const Upload = object("ModelRepoUpload", {
  ...all(text, "sessionId", "status", "uploadId", "bucket", "key", "keyPrefix", "completeUrl", "abortUrl"),
  ...all(float, "partSizeBytes", "partCount", "expiresInSeconds"),
  ...all(listOf(UploadPart), "parts"),
});
const ModelResult = object("ModelRepoResult", {
  ...all(flag, "success"),
  ...all(text, "message", "sessionId", "status"),
  ...all(Model, "model"),
  ...all(ModelVersion, "version", "modelVersion"),
  ...all(Upload, "upload"),
});

export const modelQueries = {
  myModels: refusing(listOf(Model), {}, NO_MODELS),
  myModel: refusing(Model, { owner: text, name: text }, NO_MODELS),
};
export const modelMutations = {
  addModelToRepo: refusing(ModelResult, inputOf("AddModelToRepoInput"), NO_MODELS),
  removeModelFromRepo: refusing(ModelResult, inputOf("RemoveModelFromRepoInput"), NO_MODELS),
  createModelRepoUpload: refusing(ModelResult, inputOf("CreateModelRepoUploadInput"), NO_MODELS),
  completeModelRepoUpload: refusing(ModelResult, inputOf("CompleteModelRepoUploadInput"), NO_MODELS),
  updateModelVersionStatus: refusing(
    ModelResult,
    { uuid: GraphQLID, hash: GraphQLID, status: anything("ModelVersionStatus") },
    NO_MODELS,
  ),
};

const NO_FLASH = "Flash apps are not offered by this installation; make an endpoint instead (docs/graphql.md)";
const NO_LOGIN = "A login by browser is not offered by this installation; use an API key (millrace keys create)";
const NO_APP = "Flash app not found: this installation has none";
const NO_ENVIRONMENT = "Flash environment not found: this installation has none";

const named = object("FlashNamed", all(text, "id", "name"));
const Artifact = object("FlashArtifact", all(text, "objectKey", "downloadUrl", "uploadUrl", "expiresAt"));
const FlashBuild = object("FlashBuild", { ...all(text, "id", "objectKey", "createdAt"), ...all(Json, "manifest") });
const FlashEnvironment = object("FlashEnvironment", {
  ...all(text, "id", "name", "state", "createdAt", "activeBuildId"),
  ...all(Artifact, "activeArtifact"),
  ...all(listOf(named), "endpoints", "networkVolumes"),
});
const FlashApp = object("FlashApp", {
  ...all(text, "id", "name"),
  ...all(listOf(FlashEnvironment), "flashEnvironments"),
  ...all(listOf(FlashBuild), "flashBuilds"),
});
const FlashAuthRequest = object("FlashAuthRequest", all(text, "id", "status", "expiresAt", "apiKey"));

/** A field of the user. */
export const flashApps = { flashApps: { type: listOf(FlashApp), resolve: () => [] } };

export const flashQueries = {
  flashApp: refusing(FlashApp, { flashAppId: text }, NO_APP, "not-found"),
  flashAppByName: refusing(FlashApp, { flashAppName: text }, NO_APP, "not-found"),
  flashEnvironment: refusing(FlashEnvironment, { flashEnvironmentId: text }, NO_ENVIRONMENT, "not-found"),
  flashEnvironmentByName: refusing(
    FlashEnvironment,
    inputOf("FlashEnvironmentByNameInput"),
    NO_ENVIRONMENT,
    "not-found",
  ),
  flashBuild: refusing(
    FlashBuild,
    { flashBuildId: text },
    "Flash build not found: this installation has none",
    "not-found",
  ),
  flashAuthRequestStatus: refusing(FlashAuthRequest, { flashAuthRequestId: text }, NO_LOGIN),
};

export const flashMutations = {
  createFlashApp: refusing(FlashApp, inputOf("CreateFlashAppInput"), NO_FLASH),
  createFlashEnvironment: refusing(FlashEnvironment, inputOf("CreateFlashEnvironmentInput"), NO_FLASH),
  prepareFlashArtifactUpload: refusing(Artifact, inputOf("PrepareFlashArtifactUploadInput"), NO_FLASH),
  finalizeFlashArtifactUpload: refusing(FlashBuild, inputOf("FinalizeFlashArtifactUploadInput"), NO_FLASH),
  updateFlashBuildManifest: refusing(FlashBuild, inputOf("UpdateFlashBuildManifestInput"), NO_FLASH),
  deployBuildToEnvironment: refusing(FlashEnvironment, inputOf("DeployBuildToEnvironmentInput"), NO_FLASH),
  deleteFlashApp: refusing(Void, { flashAppId: text }, NO_APP, "not-found"),
  deleteFlashEnvironment: refusing(Void, { flashEnvironmentId: text }, NO_ENVIRONMENT, "not-found"),
  createFlashAuthRequest: refusing(FlashAuthRequest, {}, NO_LOGIN),
};
