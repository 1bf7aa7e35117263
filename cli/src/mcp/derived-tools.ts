/** Tools that are operations of the API: their names, descriptions and schemas come from the contract. */
import { invokeOperations, operations } from "@millrace/platform/contract.ts";
import type { Operation } from "@millrace/platform/kernel/operation.ts";
import type { RawOperation } from "@millrace/platform/kernel/raw-operation.ts";
import { wrongUse } from "../failure.ts";
import type { Tool, ToolInput } from "./tool.ts";

/** Groups by the tags of operations. People's sessions and the worker's own protocol are nothing for agents. */
export const GROUPS: Record<string, readonly string[]> = {
  pods: ["Pods", "Clusters"],
  endpoints: ["Serverless"],
  public: ["Public endpoints"],
  hub: ["Hub"],
  jobs: ["Jobs", "Batches"],
  templates: ["Templates"],
  volumes: ["Network volumes"],
  registries: ["Registries"],
  account: ["Account"],
  catalog: ["Catalog"],
  billing: ["Billing"],
  installation: ["Installation"],
};
/** Agents choose worse among hundreds of tools. The others are served when they are named by `--only`. */
const USUAL = ["pods", "endpoints", "public", "hub", "jobs", "templates", "volumes", "catalog", "billing"];

export function derivedTools(groups: readonly string[] = USUAL): Tool[] {
  const tags = new Set(groups.flatMap((group) => GROUPS[group]!));
  const usual = Object.entries<Operation>(operations).filter(([, operation]) => isForAgents(operation));
  const raw = Object.entries<RawOperation>(invokeOperations).flatMap(([name, operation]) => {
    const [good] = Object.values(operation.answers);
    return good?.content && JSON_TYPE in good.content ? [[name, fromRaw(operation)] as const] : [];
  });
  return [...usual, ...raw].filter(([, { tag }]) => tags.has(tag)).map(([name, operation]) => toolOf(name, operation));
}

type Callable = Pick<
  Operation,
  "method" | "path" | "summary" | "description" | "tag" | "query" | "in" | "isBodyOptional"
>;

/** Streams and bytes do not fit into an answer: tools of our own read logs. A terminal or a session is for people. */
const isForAgents = ({ events, bytes, isOfBrowser }: Operation) => !events && !bytes && !isOfBrowser;

const JSON_TYPE = "application/json";

/** Calls of an endpoint describe their bodies by content type. */
function fromRaw({ body, ...operation }: RawOperation): Callable {
  const schema = body?.content[JSON_TYPE]?.schema;
  return { ...operation, ...(schema && { in: schema, isBodyOptional: !body.required }) };
}

function toolOf(name: string, operation: Callable): Tool {
  const { method, path, summary, description, query, in: body, isBodyOptional } = operation;
  const params = [...path.matchAll(/\{(\w+)\*?\}/g)].map((match) => match[1]!);
  const properties = {
    ...Object.fromEntries(params.map((param) => [param, { type: "string", maxLength: 512 }])),
    ...(query && { query }),
    ...(body && { body }),
  } as ToolInput["properties"];
  return {
    name,
    title: summary,
    description: [summary, description].filter(Boolean).join(". "),
    inputSchema: { type: "object", properties, required: [...params, ...(body && !isBodyOptional ? ["body"] : [])] },
    isReading: method === "GET",
    isDestroying: method === "DELETE" || /purge|terminate|revoke/i.test(name),
    call: ({ client }, given) =>
      client.call(operation, {
        params: Object.fromEntries(params.map((param) => [param, textIn(given, param)])),
        query: queryIn(given),
        ...(body && { body: given.body ?? {} }),
      }),
  };
}

function queryIn({ query }: Record<string, unknown>): Record<string, unknown> | undefined {
  if (query === undefined || query === null) return undefined;
  if (typeof query !== "object" || Array.isArray(query)) throw wrongUse("'query' must be an object.");
  const odd = Object.entries(query).find(
    ([, value]) => typeof value === "object" && value !== null && !isPlainList(value),
  );
  if (odd) throw wrongUse(`'query.${odd[0].slice(0, 100)}' must be a text, a number, a boolean or a list of them.`);
  return query as Record<string, unknown>;
}

const isPlainList = (value: unknown) => Array.isArray(value) && value.every((one) => typeof one !== "object");

const LONGEST_TEXT = 512;

/** A missing id would make another path, that of the list, and dots would lead to the folder above. */
export function textIn(given: Record<string, unknown>, name: string): string {
  const value = Object.hasOwn(given, name) ? given[name] : undefined;
  if (typeof value !== "string" || value === "") throw wrongUse(`'${name}' is missing: give it as a text.`);
  if (value.length > LONGEST_TEXT || value === "." || value === "..")
    throw wrongUse(`'${name}' is no id: give one as a list shows it.`);
  return value;
}
