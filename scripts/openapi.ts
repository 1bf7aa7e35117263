/** Writes the checked-in OpenAPI documents from the operations. A test fails if this was forgotten. */
import { writeFileSync } from "node:fs";
import { invokeDocument } from "../platform/src/surfaces/invoke/openapi.ts";
import { restV1Document } from "../platform/src/surfaces/rest-v1/openapi.ts";
import { openApiDocument } from "../platform/src/surfaces/rest-v2/openapi.ts";

const write = (name: string, document: object) =>
  writeFileSync(new URL(`../${name}`, import.meta.url), `${JSON.stringify(document, null, 2)}\n`);

write("openapi.json", openApiDocument());
write("openapi-invoke.json", invokeDocument());
write("openapi-v1.json", restV1Document());
