/** Rules for every answer: it is declared, it has the right form, and it shows nothing that its reader may not see. */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { type Draft, targetOf } from "./draft.ts";
import type { Answer, Outcome } from "./exchange.ts";
import type { Person } from "./population.ts";
import { components, HTTP_REFUSALS, type Route } from "./routes.ts";
import type { Schema } from "./schema-values.ts";

/** Internal words of languages, libraries and databases, which mean nothing to a caller. */
const INTERNALS =
  /node:internal|node_modules|\bat (?:async )?[\w.<>]+ \(|\.ts:\d+|platform\/src|SQLITE_|byte sequence|duplicate key|syntax error at|(?:Type|Reference|Range|Syntax)Error|\bECONN|\bENO[A-Z]{3}|\[object /;

const GATEWAY_FAULTS = [502, 503, 504];
/** Statuses that are sent before the server knows which surface a request is for. */
const OF_HTTP = [408, 417, 431];

/** Changes that may turn a request into one for another route. */
const ELSEWHERE = new Set(["a parameter of the path", "the path", "the method", "raw bytes", "the framing"]);

export class Judge {
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: true });
  readonly #validators = new Map<Schema, ValidateFunction>();

  constructor() {
    (formats as unknown as (ajv: Ajv2020) => void)(this.#ajv);
    this.#ajv.addSchema({ $id: "contract", components: { schemas: components } });
  }

  /** Describes what is wrong, with the same text for the same fault; empty when all is well. */
  faultsOf(draft: Draft, outcome: Outcome, other: Person): string[] {
    if (outcome.kind === "let go") return [];
    if (outcome.kind === "silent") return ["was not answered"];
    if (outcome.kind === "closed") return draft.isFramed ? [`lost its connection (${outcome.why})`] : [];
    const { answer } = outcome;
    return [
      ...this.#statusFaults(draft, answer),
      ...this.#formFaults(draft, answer),
      ...seenFaults(draft, answer, other),
    ];
  }

  #statusFaults(draft: Draft, { status, text }: Answer): string[] {
    const { route } = draft;
    const isForeign = draft.isForeign && unshared(text) !== "";
    if (isOfApp(draft) && route.form === "flat" && status < 500) return [];
    if (status >= 500 && !(mayFault(draft, status) && (draft.route.faultText?.test(text) ?? true)))
      return [`was answered with ${status}${isNul(draft) ? " about NUL" : ""}`];
    if (isForeign && status < 300 && !isElsewhere(draft))
      return [`was answered with ${status} about what is another's`];
    if (isElsewhere(draft) || status >= 500) return [];
    const declared = [...Object.keys(route.success).map(Number), ...route.refusals];
    const known = draft.changes.length === 0 ? declared : [...declared, ...HTTP_REFUSALS, 101];
    return known.includes(status) ? [] : [`was answered with ${status}, which is not declared`];
  }

  #formFaults(draft: Draft, answer: Answer): string[] {
    const { route } = draft;
    const type = answer.headers.get("content-type") ?? "";
    // HTML pages, tables and event streams are not JSON, and the request asked for them.
    const isOther =
      isOfApp(draft) || ["text/html", "text/csv", "text/event-stream"].some((one) => type.startsWith(one));
    if (!answer.isWhole || draft.method === "HEAD" || isOther || answer.status === 101) return [];
    if (answer.status >= 400) return refusalFaults(route, answer, isElsewhere(draft));
    const schema = isElsewhere(draft) ? undefined : route.success[answer.status];
    return schema ? this.#bodyFaults(schema, answer) : [];
  }

  #bodyFaults(schema: Schema, { text, status }: Answer): string[] {
    let validate = this.#validators.get(schema);
    if (!validate) {
      validate = this.#ajv.compile(referring(schema) as object);
      this.#validators.set(schema, validate);
    }
    const value = parsed(text);
    if (value === undefined) return [`was answered with ${status} and no JSON`];
    return validate(value)
      ? []
      : [`was answered with ${status} and a body off its schema: ${this.#ajv.errorsText(validate.errors)}`];
  }
}

/** Points the references of the document into the one schema that holds them all. */
function referring(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(referring);
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]) =>
    key === "$ref" ? [key, `contract${value as string}`] : [key, referring(value)],
  );
  return Object.fromEntries(entries);
}

const isElsewhere = ({ changes }: Draft) => changes.some((change) => ELSEWHERE.has(change));

/** The most frequent fault has a text of its own, since it would otherwise hide the others. */
const isNul = (draft: Draft) => /%00|\0/.test(targetOf(draft));

const isOfApp = ({ route, params, person }: Draft) =>
  route.of === "app" || Object.values(params).some((id) => person.balanced.has(id));

const mayFault = (draft: Draft, status: number) =>
  draft.route.faults.includes(status) || (isOfApp(draft) && GATEWAY_FAULTS.includes(status));

function refusalFaults(route: Route, { text, headers, status }: Answer, isOther: boolean): string[] {
  const type = headers.get("content-type") ?? "none";
  const value = parsed(text) as Record<string, unknown> | undefined;
  if (typeof value !== "object" || value === null) return [`was refused with ${status} and no JSON (${type})`];
  const isProblem = type.startsWith("application/problem+json");
  if (!isOther && route.form !== "open" && isProblem !== (route.form === "problem") && !OF_HTTP.includes(status))
    return status === 400 ? [] : [`was refused with ${status} in the form of another surface (${type})`];
  const said = isProblem ? [value.title, value.detail] : openAiWords(value);
  if (said.some((word) => typeof word !== "string" || word === ""))
    return [`was refused with ${status} without a reason`];
  if (isProblem && value.status !== status) return [`was refused with ${status} that calls itself ${value.status}`];
  if (isProblem && status === 429 && !headers.has("retry-after"))
    return ["was refused with 429 that says not for how long"];
  return status === 405 && !headers.has("allow") ? ["was refused with 405 that says not what is allowed"] : [];
}

function openAiWords({ error, message, errors }: Record<string, unknown>): unknown[] {
  if (Array.isArray(errors)) return errors.map((one: { message?: unknown }) => one.message);
  return typeof error === "object" && error !== null ? [(error as { message?: unknown }).message] : [error, message];
}

function seenFaults({ route, person }: Draft, { text, status, headers }: Answer, other: Person): string[] {
  const all = `${[...headers.values()].join("\n")}\n${unshared(text)}`;
  const faults: string[] = [];
  // A caller with a node's pass is the installation itself and may see everything.
  if (route.key !== "node") {
    // The operator exports the bills of all accounts, with the names of what they are for.
    const isOperators = person.mark.startsWith("seen-owner-") && route.path.startsWith("/v2/installation/billing");
    if (all.includes(other.mark) && !isOperators) faults.push("shows what another account made");
    if (all.includes(other.key) || all.includes(other.byHand.key)) faults.push("shows another account's key");
  }
  if (all.includes(person.hiddenMark) || all.includes(other.hiddenMark)) faults.push("shows a secret's value");
  const isDocument = route.form === "open" || headers.get("content-type")?.startsWith("text/");
  const internal = isDocument ? undefined : INTERNALS.exec(text)?.[0];
  if (internal) faults.push(`shows internals with ${status}: ${internal}`);
  return faults;
}

/** Removes templates that their owner made public. Returns an empty text when nothing else is left. */
function unshared(text: string): string {
  const value = parsed(text) as Shared | Shared[] | { templates?: Shared[] } | undefined;
  if (typeof value !== "object" || value === null) return text;
  if (Array.isArray(value)) return JSON.stringify(value.filter((one) => !isShared(one)));
  if ("templates" in value && Array.isArray(value.templates))
    return JSON.stringify(value.templates.filter((one) => !isShared(one)));
  return isShared(value as Shared) ? "" : text;
}

type Shared = { public?: unknown; isPublic?: unknown } | null;

const isShared = (value: Shared) => value?.public === true || value?.isPublic === true;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
