/** The tests of a listing: jobs with what their output must have, and requests to a Pod with what it must answer. */
import type { Fields } from "./fields.ts";
import { HUB_LIMITS, type KeptCase, type ListingType } from "./model.ts";

export type ListingTest = Pick<KeptCase, "name" | "body" | "timeoutMs" | "expected" | "request">;

const LONGEST_BODY = 65_536;
/** As long as an execution may take at all. */
const LONGEST_TIMEOUT_MS = 604_800_000;

export function testsOf(file: Fields, type: ListingType): ListingTest[] {
  return file.objects("tests", HUB_LIMITS.tests).map((test, at) => {
    const name = test.text("name", HUB_LIMITS.title) || `test ${at + 1}`;
    return type === "POD" ? { name, ...requestOf(test) } : { name, ...jobOf(test) };
  });
}

function jobOf(test: Fields): Omit<ListingTest, "name"> {
  const input = test.object("input");
  if (!test.has("input")) test.fault("input", "is required: what the job gets");
  const timeoutMs = test.whole("timeout", { least: 0, most: LONGEST_TIMEOUT_MS, otherwise: 0 });
  const body = JSON.stringify({ input: input?.values ?? {} });
  if (body.length > LONGEST_BODY) test.fault("input", `has ${body.length} characters, of ${LONGEST_BODY} at most`);
  const expected = test.values.expectedOutput === undefined ? undefined : JSON.stringify(test.values.expectedOutput);
  if ((expected?.length ?? 0) > LONGEST_BODY) test.fault("expectedOutput", `has more than ${LONGEST_BODY} characters`);
  return { body, ...(timeoutMs > 0 && { timeoutMs }), ...(expected !== undefined && { expected }) };
}

/** A test without a request only waits until the Pod runs. */
function requestOf(test: Fields): Omit<ListingTest, "name"> {
  const request = test.object("request");
  if (!request) return {};
  const path = request.text("path", 2048, "/");
  if (!/^\/[\x21-\x7e]*$/.test(path)) request.fault("path", "must begin with / and have visible ASCII characters");
  const contains = request.text("contains", HUB_LIMITS.text);
  return {
    request: {
      port: request.whole("port", { least: 1, most: 65_535, otherwise: 80 }),
      path,
      status: request.whole("status", { least: 100, most: 599, otherwise: 200 }),
      ...(contains !== "" && { contains }),
    },
  };
}

const SHOWN = 200;

/** Returns why an output does not have what was expected of it, or undefined if it does. Objects may have more than that. */
export function mismatch(expected: unknown, output: unknown, path = "output"): string | undefined {
  if (Array.isArray(expected)) {
    if (!Array.isArray(output)) return `${path} is not a list`;
    if (output.length !== expected.length) return `${path} has ${output.length} items, and not ${expected.length}`;
    return firstOf(expected.map((one, at) => () => mismatch(one, output[at], `${path}[${at}]`)));
  }
  if (typeof expected === "object" && expected !== null) {
    if (typeof output !== "object" || output === null || Array.isArray(output)) return `${path} is not an object`;
    const found = output as Record<string, unknown>;
    return firstOf(
      Object.entries(expected).map(
        ([key, one]) =>
          () =>
            Object.hasOwn(found, key) ? mismatch(one, found[key], `${path}.${key}`) : `${path} has no '${key}'`,
      ),
    );
  }
  if (Object.is(expected, output)) return undefined;
  return `${path} is ${shown(output)}, and not ${shown(expected)}`;
}

function firstOf(checks: readonly (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const why = check();
    if (why !== undefined) return why;
  }
  return undefined;
}

const shown = (value: unknown) => (JSON.stringify(value) ?? "absent").slice(0, SHOWN);
