/** `millrace.yaml`: what an endpoint is made from, with the fields of the API and the handler of the folder. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ifNotThere } from "@millrace/platform/kernel/not-there.ts";
import { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import { parse } from "yaml";
import { wrongUse } from "../failure.ts";

const CONFIG_FILE = "millrace.yaml";

/** The fields of an endpoint as the API takes them; the server checks each. */
export type EndpointFields = Record<string, unknown> & { name?: string; env?: Record<string, string> };

export interface DeployConfig {
  /** The path of the handler, from the folder. */
  handler?: string | undefined;
  fields: EndpointFields;
}

const LONGEST_FILE = 1_048_576;

/** Resolves with nothing but empty fields if the folder has no such file. */
export async function readDeployConfig(folder: string, named?: string): Promise<DeployConfig> {
  const file = named ?? join(folder, CONFIG_FILE);
  const reading = readFile(file, "utf8");
  const text = await (named === undefined ? reading.catch(ifNotThere("")) : reading);
  if (text.length > LONGEST_FILE) throw wrongUse(`${file} is longer than ${LONGEST_FILE} characters`);
  const { handler, ...fields } = mappingIn(text, file);
  if (handler !== undefined && typeof handler !== "string") throw wrongUse(`${file}: 'handler' must be a path`);
  return { handler, fields };
}

function mappingIn(text: string, file: string): EndpointFields & { handler?: unknown } {
  let value: unknown;
  try {
    value = parse(text, { maxAliasCount: 100 });
  } catch (error) {
    throw wrongUse(`${file} is not valid YAML: ${(error as Error).message}`);
  }
  if (value === null || value === undefined) return {};
  if (typeof value !== "object" || Array.isArray(value))
    throw wrongUse(`${file} must hold fields, such as 'name: hello'`);
  return value as EndpointFields;
}

/** The JSON Schema of the file, for the completion of editors. */
export function configSchema(): object {
  const { $id: _, required: __, properties, ...rest } = Endpoint.create as unknown as Record<string, object>;
  const handler = { type: "string", description: "The handler of the folder, such as src/handler.py." };
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: CONFIG_FILE,
    description: "An endpoint for 'millrace deploy' and 'millrace dev'.",
    ...rest,
    properties: { handler, ...withoutOurs(properties!) },
  };
}

/** Drops the words that only Millrace knows, which some editors warn about. */
function withoutOurs(value: object): object {
  if (Array.isArray(value)) return value.map((item) => (typeof item === "object" && item ? withoutOurs(item) : item));
  const entries = Object.entries(value).filter(([name]) => !name.startsWith("x-") && !name.startsWith("~"));
  return Object.fromEntries(
    entries.map(([name, item]) => [name, typeof item === "object" && item !== null ? withoutOurs(item) : item]),
  );
}
