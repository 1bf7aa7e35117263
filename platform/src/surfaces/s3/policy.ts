/** The policy of a form: a document, signed with the owner's key, that says what others may upload and until when. */
import { parseTimestamp } from "../../kernel/clock.ts";
import { S3Refused } from "./refusals.ts";

export interface Policy {
  expiresAt: number;
  conditions: readonly Condition[];
  /** Allowed sizes of the file, in bytes. */
  range: { least: number; most: number };
}

interface Condition {
  is: "eq" | "starts-with";
  /** In lower case. */
  field: string;
  value: string;
}

/** The signature cannot sign itself, so these fields need no condition. */
const UNSIGNED = ["policy", "x-amz-signature"];
const IGNORED = "x-ignore-";

/** Reads the field `policy`, a JSON document in base64. */
export function policyFrom(text: string): Policy {
  const document = documentIn(text);
  const expiresAt = parseTimestamp(String(document.expiration));
  if (expiresAt === undefined) throw invalid("'expiration' must be a time such as 2026-11-16T09:30:00Z");
  if (!Array.isArray(document.conditions)) throw invalid("'conditions' must be a list");
  const conditions: Condition[] = [];
  const range = { least: 0, most: Number.POSITIVE_INFINITY };
  for (const said of document.conditions) {
    const bounds = boundsIn(said);
    if (bounds) {
      range.least = Math.max(range.least, bounds.least);
      range.most = Math.min(range.most, bounds.most);
    } else conditions.push(...conditionsIn(said));
  }
  return { expiresAt, conditions, range };
}

function documentIn(text: string): Record<string, unknown> {
  try {
    const document = JSON.parse(Buffer.from(text, "base64").toString()) as unknown;
    if (typeof document === "object" && document !== null) return document as Record<string, unknown>;
  } catch {
    // Text that is no JSON is refused below.
  }
  throw invalid("it must be a JSON object in base64");
}

function boundsIn(said: unknown): Policy["range"] | undefined {
  if (!Array.isArray(said) || String(said[0]).toLowerCase() !== "content-length-range") return undefined;
  const [least, most] = said.slice(1).map(Number);
  if (said.length !== 3 || !isLength(least) || !isLength(most))
    throw invalid('a range must be ["content-length-range", least, most] in bytes');
  return { least, most };
}

const isLength = (value: number | undefined): value is number => Number.isSafeInteger(value) && value! >= 0;

/** Reads `{"field": "value"}`, `["eq", "$field", "value"]`, or the same with `starts-with`. */
function conditionsIn(said: unknown): Condition[] {
  if (Array.isArray(said)) {
    const [is, field, value] = said.map(String);
    const operator = is?.toLowerCase();
    if (said.length !== 3 || (operator !== "eq" && operator !== "starts-with") || !field!.startsWith("$"))
      throw invalid(`${JSON.stringify(said)} is no condition: write ["eq" or "starts-with", "$field", "value"]`);
    return [{ is: operator, field: field!.slice(1).toLowerCase(), value: value! }];
  }
  if (typeof said !== "object" || said === null) throw invalid("a condition must be an object or a list");
  return Object.entries(said).map(([field, value]) => ({
    ...{ is: "eq" as const, field: field.toLowerCase(), value: String(value) },
  }));
}

/** Throws unless everything was allowed: every condition must hold, and every field must have one. The bucket counts as a field. */
export function refuseForbidden(policy: Policy, asked: ReadonlyMap<string, string>, now: number): void {
  if (now >= policy.expiresAt) throw forbidden("it has expired");
  for (const condition of policy.conditions)
    if (!holds(condition, asked.get(condition.field) ?? ""))
      throw forbidden(
        `its condition ${JSON.stringify([condition.is, `$${condition.field}`, condition.value])} does not hold`,
      );
  const named = new Set(policy.conditions.map(({ field }) => field));
  const extra = [...asked.keys()].filter(
    (name) => !named.has(name) && !UNSIGNED.includes(name) && !name.startsWith(IGNORED),
  );
  if (extra.length > 0) throw forbidden(`it has no condition for ${extra.map((name) => `'${name}'`).join(", ")}`);
}

const holds = ({ is, value }: Condition, given: string) => (is === "eq" ? given === value : given.startsWith(value));

/** Checks the length of a file, complete or so far. */
export function refuseLength({ range }: Policy, length: number, isWhole: boolean): void {
  if (length > range.most)
    throw new S3Refused("EntityTooLarge", `The policy allows a file of up to ${range.most} bytes.`);
  if (isWhole && length < range.least)
    throw new S3Refused("EntityTooSmall", `The policy asks for a file of ${range.least} bytes at least.`);
}

const invalid = (why: string) => new S3Refused("InvalidPolicyDocument", `The policy cannot be read: ${why}.`);
const forbidden = (why: string) => new S3Refused("AccessDenied", `The form is not what its policy allows: ${why}.`);
