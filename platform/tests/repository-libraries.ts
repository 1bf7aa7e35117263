/** The only places where each library may be imported, so that it could be replaced there. */

export const libraries = {
  typebox: ["kernel/schema.ts"],
  ajv: ["kernel/validate.ts"],
  "ajv-formats": ["kernel/validate.ts"],
  "find-my-way": ["surfaces/http/router.ts"],
  pg: ["adapters/postgres/"],
  "@smithy/signature-v4": ["surfaces/s3/signature.ts", "cli/src/import/s3.ts"],
  "@smithy/hash-node": ["surfaces/s3/signature.ts", "cli/src/import/s3.ts"],
  "fast-xml-parser": ["surfaces/s3/xml.ts", "cli/src/import/s3.ts"],
  "@node-rs/argon2": ["adapters/crypto/"],
  "node:sqlite": ["adapters/sqlite/"],
  "age-encryption": ["adapters/backup/sealing.ts"],
  graphql: ["surfaces/graphql/"],
  "@escape.tech": ["surfaces/graphql/documents.ts"],
  ws: ["surfaces/terminals/", "cli/src/terminal.ts", "adapters/kubernetes/"],
  "@kubernetes/client-node": ["adapters/kubernetes/kube-access.ts"],
  yaml: ["cli/src/deploy/config.ts"],
  oauth4webapi: ["adapters/oidc/"],
  pino: ["main.ts"],
  ssh2: ["surfaces/ssh/"],
};
