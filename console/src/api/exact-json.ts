/** JSON whose long whole numbers keep their digits, such as seeds of 64 bits: a number of JavaScript has about 16 of them. */

const { rawJSON } = JSON as typeof JSON & { rawJSON?: (text: string) => unknown };
const LONG = /^-?\d{16,}$/;
/** Most texts have no such number. Those are read several times quicker. */
const MAY_HAVE_LONG = /\d{16}/;

/** Such a number becomes what `JSON.stringify` writes as it was. Browsers that do not know this round it, as they always do. */
function exactly(_: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value) || rawJSON === undefined) return value;
  const { source } = context ?? {};
  return source !== undefined && LONG.test(source) ? rawJSON(source) : value;
}

export const parseExact = (text: string): unknown =>
  MAY_HAVE_LONG.test(text) ? JSON.parse(text, exactly) : JSON.parse(text);

/** Reads of what people put in and programs put out. No other answer has such numbers. */
export const isExact = (operation: string): boolean => operation === "getJob" || operation === "getJobDetails";
