/** Writes the checked-in OpenAPI document from the operations; a test fails when it was forgotten. */
import { writeFileSync } from "node:fs";
import { openApiDocument } from "../platform/src/surfaces/rest-v2/openapi.ts";

writeFileSync(new URL("../openapi.json", import.meta.url), `${JSON.stringify(openApiDocument(), null, 2)}\n`);
