/** Checks the answers of a server against an OpenAPI document. */
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { expect } from "vitest";
import type { Answer } from "./world.ts";

interface DescribedAnswer {
  $ref?: string;
  headers?: Record<string, unknown>;
  content?: Record<string, { schema: unknown; example?: unknown }>;
}

export interface DescribedCall {
  operationId: string;
  path: string;
  method: string;
  tags: string[];
  parameters: { name: string; in: string }[];
  requestBody?: { content: Record<string, { example?: unknown }> };
  responses: Record<string, DescribedAnswer>;
}

interface Document {
  paths: Record<string, Record<string, Omit<DescribedCall, "path" | "method">>>;
}

export const callsIn = (document: object): DescribedCall[] =>
  Object.entries((document as Document).paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ ...described, path, method: method.toUpperCase() })),
  );

const pointer = (...parts: string[]) =>
  parts.map((part) => `/${encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"))}`).join("");

export class DescribedAnswers {
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #document: object;

  constructor(document: object) {
    (formats as unknown as (instance: Ajv2020) => void)(this.#ajv);
    this.#ajv.addSchema(document, "openapi");
    this.#document = document;
  }

  /** The document must declare the status, the media type, the body and every header of the answer. */
  expectDescribed({ path, method, responses }: DescribedCall, answer: Answer): void {
    const status = String(answer.status);
    expect([path, method, Object.keys(responses)]).toEqual([path, method, expect.arrayContaining([status])]);
    const { $ref } = responses[status]!;
    const place = $ref?.split("/").slice(1) ?? ["paths", path, method.toLowerCase(), "responses", status];
    const { headers = {}, content } = this.#at(place) as DescribedAnswer;
    const type = answer.headers.get("content-type")?.split(";")[0];
    if (!content) expect([answer.text, type]).toEqual(["", undefined]);
    else if (!("*/*" in content)) {
      expect(Object.keys(content)).toContain(type);
      if (type === "application/json") this.#expectValid(answer.json, [...place, "content", type, "schema"]);
    }
    expect(Object.keys(headers).filter((name) => !answer.headers.has(name))).toEqual([]);
  }

  #expectValid(value: unknown, place: string[]): void {
    const validate = this.#ajv.getSchema(`openapi#${pointer(...place)}`);
    if (!validate) throw new Error(`the document has no schema at ${place.join(" > ")}`);
    expect(validate(value) ? [] : validate.errors).toEqual([]);
  }

  #at(place: string[]): unknown {
    return place.reduce<unknown>((inside, name) => (inside as Record<string, unknown>)[name], this.#document);
  }
}
