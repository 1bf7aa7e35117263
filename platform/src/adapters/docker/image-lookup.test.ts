/** What an engine's answers mean for an image: yes, no, or that the registry could not be asked. */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { StartRefused } from "../../ports/compute/compute.ts";
import { ImageDenied, RegistryAway } from "../../ports/compute/images.ts";
import type { FoundEngine } from "./engine.ts";
import { type Call, type EngineApi, EngineRefused } from "./engine-api.ts";
import { lookUp, originOf } from "./image-lookup.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const CREDENTIAL = { username: "reader", password: "open-sesame" };

/** An engine that gives this answer or this refusal. */
function engine(answer: object | EngineRefused, { podman = false, report = "" } = {}) {
  const asked: { path: string; call: Call | undefined }[] = [];
  const api = {
    async call(_: string, path: string, call?: Call) {
      asked.push({ path, call });
      if (answer instanceof EngineRefused) throw answer;
      return answer;
    },
    async stream(_: string, path: string, call?: Call) {
      asked.push({ path, call });
      return Readable.from([report]) as unknown as IncomingMessage;
    },
  };
  return { found: { api: api as unknown as EngineApi, podman } as FoundEngine, asked };
}

const inTime = () => ({ signal: new AbortController().signal, credential: CREDENTIAL });
const verdict = async (status: number, message: string) => {
  const { found } = engine(new EngineRefused(status, message));
  return lookUp(found, "registry.example/a:1", inTime()).catch((error: Error) => error);
};

test("the digest that the registry tells makes the reference exact, and the credential is in a header", async () => {
  const { found, asked } = engine({ Descriptor: { digest: DIGEST } });
  expect(await lookUp(found, "registry.example/a", inTime())).toBe(`registry.example/a@${DIGEST}`);
  const [{ path, call }] = asked as [(typeof asked)[0]];
  expect(path).toBe("/distribution/registry.example/a:latest/json");
  expect(JSON.parse(Buffer.from(call!.headers!["x-registry-auth"]!, "base64url").toString())).toEqual({
    ...CREDENTIAL,
    serveraddress: "registry.example",
  });
});

test.each([
  [401, "unauthorized: authentication required"],
  [403, "denied: requested access to the resource is denied"],
  [500, 'Head "https://registry.example/v2/a/manifests/1": no basic auth credentials'],
  [500, "errors:\ndenied: requested access to the resource is denied\nunauthorized: authentication required\n"],
])("%d %s is a denial", async (status, message) => {
  expect(await verdict(status, message)).toBeInstanceOf(ImageDenied);
});

test.each([
  [404, "manifest unknown: manifest unknown"],
  [500, "manifest unknown"],
  [400, "invalid reference format"],
])("%d %s is a refusal, and no denial", async (status, message) => {
  const error = await verdict(status, message);
  expect(error).toBeInstanceOf(StartRefused);
  expect(error).not.toBeInstanceOf(ImageDenied);
});

test.each([
  [500, 'Get "https://registry.example/v2/": dial tcp 192.0.2.1:443: connect: connection refused'],
  [500, 'Get "https://registry.example/v2/": dial tcp 192.0.2.1:443: connect: permission denied'],
  [500, "toomanyrequests: You have reached your pull rate limit. You may increase the limit by authenticating"],
  [500, "received unexpected HTTP status: 503 Service Unavailable"],
  [500, "x509: certificate signed by unknown authority"],
])("%d %s is no answer of the registry's", async (status, message) => {
  expect(await verdict(status, message)).toBeInstanceOf(RegistryAway);
});

describe("with Podman, which has no such question", () => {
  const named = (...names: string[]) => ({ RepoTags: names, RepoDigests: [`registry.example/a@${DIGEST}`] });

  test("a pull of the tag is the proof", async () => {
    const { found, asked } = engine(named(), { podman: true, report: '{"status":"done"}\n' });
    expect(await lookUp(found, "registry.example/a:1", inTime())).toBe(`registry.example/a@${DIGEST}`);
    expect(asked[0]).toMatchObject({ path: "/images/create", call: { query: { fromImage: "registry.example/a:1" } } });
    const refusing = engine(named(), { podman: true, report: '{"error":"unauthorized: authentication required"}\n' });
    await expect(lookUp(refusing.found, "registry.example/a:1", inTime())).rejects.toBeInstanceOf(ImageDenied);
  });

  test("a digest proves nothing", async () => {
    const { found, asked } = engine(named(), { podman: true });
    await expect(lookUp(found, `registry.example/a@${DIGEST}`, inTime())).rejects.toThrow("name it by a tag");
    expect(asked).toEqual([]);
  });

  test("only names at localhost are the operator's", async () => {
    const { found } = engine(named("localhost/mine:1", "registry.example/a:1"), { podman: true });
    expect(await originOf(found, "localhost/mine:1")).toBe("operator");
    expect(await originOf(found, "registry.example/a:1")).toBe("registry");
  });
});
