/** Which request headers reach a worker, and which response headers reach the client. */
import { describe, expect, test } from "vitest";
import { requestHeaders, responseHeaders, type Sender, withoutKey } from "./headers.ts";

const KEY = "mlr_0123456789abcdef";

/** Encodes every character as `%xx`. */
const encoded = (text: string) =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");

/** Flattens pairs into one list, as node:http has them. */
const raw = (...pairs: [string, string][]) => pairs.flat();

function pairs(flat: string[]): [string, string][] {
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!.toLowerCase(), flat[2 * i + 1]!]);
}

const SENDER: Sender = {
  ...{ remote: "10.0.0.9", isByProxy: true, isEncrypted: false, key: KEY, keepsAuthorization: false, prefix: "/v2/ep" },
};

function sent(given: string[], more: Partial<Sender> = {}): [string, string][] {
  const sender = { ...SENDER, ...more };
  return pairs(requestHeaders(given, sender)).filter(([name]) => !name.startsWith("x-forwarded-"));
}

describe("to the worker", () => {
  test("what the application is meant to read goes as it is, in its order", () => {
    const given = raw(["Host", "h"], ["Accept", "a"], ["X-Mine", "1"], ["X-Mine", "2"], ["Content-Length", "3"]);
    expect(sent(given)).toEqual([
      ["host", "h"],
      ["accept", "a"],
      ["x-mine", "1"],
      ["x-mine", "2"],
      ["content-length", "3"],
    ]);
  });

  test("what belongs to the connection stays on it, with what Connection names", () => {
    const given = raw(
      ["Connection", "close, X-Hop"],
      ["X-Hop", "1"],
      ["connection", "keep-alive"],
      ["Connection", "X-Other,, x-THIRD "],
      ["X-Other", "2"],
      ["X-Third", "3"],
      ["Keep-Alive", "timeout=5"],
      ["TE", "trailers"],
      ["Transfer-Encoding", "chunked"],
      ["Upgrade", "h2c"],
      ["Proxy-Authorization", "x"],
      ["Expect", "100-continue"],
    );
    expect(sent(given)).toEqual([]);
  });

  test.each([
    ["Authorization", KEY],
    ["Authorization", `Bearer ${KEY}`],
    ["authorization", "Basic c29tZXRoaW5n"],
    ["X-Api-Key", KEY],
    ["Api-Key", `Bearer ${KEY}`],
    ["Cookie", `token=${KEY}`],
    ["Sec-WebSocket-Protocol", `millrace, ${KEY}`],
    ["Referer", `https://a.test/?api_key=${encoded(KEY)}`],
  ])("the caller's key is not sent: %s: %s", (name, value) => expect(sent(raw([name, value]))).toEqual([]));

  test("it is sent to an endpoint that asks for it", () => {
    const given = raw(["Authorization", `Bearer ${KEY}`]);
    expect(sent(given, { keepsAuthorization: true })).toEqual([["authorization", `Bearer ${KEY}`]]);
  });

  test.each([
    ["a=1; __Host-millrace=secret; b=2", [["cookie", "a=1; b=2"]]],
    ["__Host-millrace-session=secret", []],
    ["__host-MILLRACE=secret;c=3", [["cookie", "c=3"]]],
    ["a=1", [["cookie", "a=1"]]],
  ])("the console's cookies are not: %s", (cookie, expected) => {
    expect(sent(raw(["Cookie", cookie]))).toEqual(expected);
  });

  test("where the request came from is said", () => {
    expect(pairs(requestHeaders(raw(["Host", "millrace.test"]), SENDER))).toEqual([
      ["host", "millrace.test"],
      ["x-forwarded-for", "10.0.0.9"],
      ["x-forwarded-proto", "http"],
      ["x-forwarded-host", "millrace.test"],
      ["x-forwarded-prefix", "/v2/ep"],
    ]);
  });

  test("what a client says of it that is no proxy is dropped", () => {
    const given = raw(["Host", "h"], ["X-Forwarded-For", "1.2.3.4"], ["X-Forwarded-Host", "out.side"]);
    expect(pairs(requestHeaders(given, { ...SENDER, isByProxy: false, isEncrypted: true, prefix: "" }))).toEqual([
      ["host", "h"],
      ["x-forwarded-for", "10.0.0.9"],
      ["x-forwarded-proto", "https"],
      ["x-forwarded-host", "h"],
    ]);
  });

  test("what proxies before us said of it is kept", () => {
    const given = raw(
      ["X-Forwarded-For", "1.2.3.3"],
      ["X-Forwarded-For", "1.2.3.4"],
      ["X-Forwarded-Proto", "https"],
      ["X-Forwarded-Host", "out.side"],
    );
    expect(pairs(requestHeaders(given, { ...SENDER, prefix: "" }))).toEqual([
      ["x-forwarded-for", "1.2.3.3, 1.2.3.4, 10.0.0.9"],
      ["x-forwarded-proto", "https"],
      ["x-forwarded-host", "out.side"],
    ]);
  });

  test.each([
    [`/a?api_key=${KEY}`, "/a"],
    [`/a?x=1&api_key=${KEY}&y=2`, "/a?x=1&y=2"],
    [`/a?token=${KEY}`, "/a"],
    [`/a?api_key=${encoded(KEY)}&y=2`, "/a?y=2"],
    [`/a?%61pi_key=${encoded(encoded(KEY))}`, "/a"],
    [`/a?auth=Bearer%20${KEY}`, "/a"],
    [`/a?${KEY}=1&y=2`, "/a?y=2"],
    ["/a?api_key=another", "/a?api_key=another"],
    ["/a%20b?x=%zz&y=%25", "/a%20b?x=%zz&y=%25"],
  ])("the key in a query is not sent: %s", (target, expected) => expect(withoutKey(target, KEY)).toBe(expected));

  test.each([[`/a/${KEY}/b`], [`/a/${encoded(KEY)}`], [`/a;key=${KEY}?x=1`], [`/a/${encoded(encoded(KEY))}?x=1`]])(
    "the key in a path is refused, for a path without it is another one: %s",
    (target) => expect(() => withoutKey(target, KEY)).toThrow("Authorization"),
  );
});

describe("to the client", () => {
  const own = { "X-Request-Id": "ours", "X-Runpod-Worker-Id": "w1", "X-Millrace-Worker-Id": "w1" };
  const received = (given: string[], form: "path" | "host") => pairs(responseHeaders(given, form, own));
  const named = [
    ["x-request-id", "ours"],
    ["x-runpod-worker-id", "w1"],
    ["x-millrace-worker-id", "w1"],
  ];

  test("the answer's own headers come, in their order, and the worker's id is ours to say", () => {
    const given = raw(
      ["Content-Type", "a/b"],
      ["X-Mine", "1"],
      ["X-Runpod-Worker-Id", "forged"],
      ["Connection", "close"],
      ["Connection", "X-Hop"],
      ["X-Hop", "1"],
    );
    expect(received(given, "host")).toEqual([["content-type", "a/b"], ["x-mine", "1"], ...named]);
  });

  test("a request id of the application is kept", () => {
    expect(received(raw(["X-Request-Id", "theirs"]), "host")[0]).toEqual(["x-request-id", "theirs"]);
    expect(received(raw(["X-Request-Id", "theirs"]), "host").filter(([name]) => name === "x-request-id")).toHaveLength(
      1,
    );
  });

  test("in the path form a page is put into a sandbox, and no policy of its own takes it out", () => {
    const given = raw(["Content-Security-Policy", "sandbox allow-same-origin"]);
    expect(received(given, "path").filter(([name]) => name === "content-security-policy")).toEqual([
      ["content-security-policy", "sandbox allow-same-origin"],
      ["content-security-policy", "sandbox allow-scripts allow-forms"],
    ]);
  });

  test.each([
    ["Set-Cookie", "a=1"],
    ["Clear-Site-Data", '"cookies"'],
    ["Service-Worker-Allowed", "/"],
    ["Strict-Transport-Security", "max-age=1"],
    ["Alt-Svc", 'h2="evil:443"'],
    ["NEL", "{}"],
    ["Report-To", "{}"],
    ["Reporting-Endpoints", 'default="https://evil"'],
  ])("in the path form a page does not speak for the console's origin: %s", (name, value) => {
    expect(received(raw([name, value]), "path").map(([name]) => name)).not.toContain(name.toLowerCase());
  });

  test.each([
    ["a=1; Path=/; HttpOnly", ["a=1; Path=/; HttpOnly"]],
    ["a=1; Domain=apps.example.com; Secure", ["a=1; Secure"]],
    ["a=1; DOMAIN = .example.com", ["a=1"]],
    ["__Host-millrace=forged; Secure; Path=/", []],
  ])("in the host form cookies are the host's own: %s", (cookie, expected) => {
    const kept = received(raw(["Set-Cookie", cookie]), "host").filter(([name]) => name === "set-cookie");
    expect(kept.map(([, value]) => value)).toEqual(expected);
  });

  test("in the host form there is no sandbox: it has an origin of its own", () => {
    expect(received([], "host")).toEqual(named);
  });
});
