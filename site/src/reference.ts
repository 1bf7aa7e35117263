/** The API reference: a page for each group of operations, made from the OpenAPI documents. */
import { type Fields, fieldRows, type Schema, schemaIn } from "./fields.ts";
import { code, escaped, table, text } from "./html.ts";

interface Operation {
  operationId: string;
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema?: Schema }> };
  responses: Record<string, { $ref?: string; description?: string; content?: Record<string, { schema?: Schema }> }>;
}

export interface OpenApi extends Fields {
  info: { title: string };
  tags?: { name: string; description?: string }[];
  paths: Record<string, Record<string, Operation>>;
}

export interface ReferencePage {
  /** Below `/docs/api/`. */
  name: string;
  title: string;
  html: string;
}

const METHODS = ["get", "post", "put", "patch", "delete", "head"];

export function referencePages(document: OpenApi, { id, title }: { id: string; title: string }): ReferencePage[] {
  return (document.tags ?? []).map((tag) => {
    const parts = operationsOf(document, tag.name).map((one) => operationHtml(document, one));
    const about = tag.description ? text(tag.description) : "";
    const html = [`<h1>${escaped(`${title}: ${tag.name}`)}</h1>`, about, ...parts].join("\n");
    return { name: `${id}-${tag.name.toLowerCase().replaceAll(" ", "-")}`, title: `${title}: ${tag.name}`, html };
  });
}

interface Found {
  method: string;
  path: string;
  operation: Operation;
}

function operationsOf(document: OpenApi, tag: string): Found[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    METHODS.flatMap((method) => {
      const operation = methods[method];
      return operation?.tags?.includes(tag) ? [{ method, path, operation }] : [];
    }),
  );
}

function operationHtml(document: OpenApi, { method, path, operation }: Found): string {
  const { operationId, summary = operationId, description } = operation;
  return [
    `<h2 id="${escaped(operationId)}">${escaped(summary)}</h2>`,
    `<p><span class="method ${method}">${method.toUpperCase()}</span> ${code(path)}</p>`,
    description ? text(description) : "",
    parametersHtml(document, operation),
    bodyHtml(document, operation),
    answersHtml(document, operation),
  ].join("\n");
}

function parametersHtml(document: OpenApi, { parameters = [] }: Operation): string {
  if (parameters.length === 0) return "";
  const rows = parameters.map(({ name, in: place, required, description, schema }) => [
    code(name) + (required ? "" : ' <span class="quiet">optional</span>'),
    escaped(place),
    fieldRows(document, { properties: { [name]: schema } })[0]?.[1] ?? "",
    text(description ?? schemaIn(document, schema).description ?? ""),
  ]);
  return `<h3>Parameters</h3>${table(["Name", "In", "Type", "What it is"], rows)}`;
}

function bodyHtml(document: OpenApi, { requestBody }: Operation): string {
  const parts = Object.entries(requestBody?.content ?? {}).map(([type, { schema = {} }]) => {
    const rows = fieldRows(document, schema);
    return `<h3>Body <span class="quiet">${escaped(type)}</span></h3>${rows.length > 0 ? table(["Field", "Type", "What it is"], rows) : ""}`;
  });
  return parts.join("\n");
}

function answersHtml(document: OpenApi, { responses }: Operation): string {
  const rows = Object.entries(responses).map(([status, one]) => {
    const { description = "" } = one.$ref ? (document.components.responses?.[one.$ref.split("/").at(-1)!] ?? {}) : one;
    return [code(status), text(description)];
  });
  const [good] = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  const schema = Object.values(good?.[1].content ?? {})[0]?.schema;
  const fields = schema ? fieldRows(document, schema) : [];
  const shown =
    fields.length > 0
      ? `<details><summary>Fields of the answer</summary>${table(["Field", "Type", "What it is"], fields)}</details>`
      : "";
  return `<h3>Answers</h3>${table(["Status", "Meaning"], rows)}${shown}`;
}
