/** Which endpoint a request is addressed to, in either form, and which path its worker gets. */
import { describe, expect, test } from "vitest";
import { addressOf } from "./address.ts";

const ID = "ab12cd34ef56gh";

describe("the path form", () => {
  test.each([
    [`/v2/${ID}`, "/"],
    [`/v2/${ID}/`, "/"],
    [`/v2/${ID}?x=1`, "/?x=1"],
    [`/v2/${ID}/a/b?x=1&y=/`, "/a/b?x=1&y=/"],
    [`/v2/${ID}//a//`, "//a//"],
    [`/v2/${ID}/a%2Fb/%zz/../c`, "/a%2Fb/%zz/../c"],
    [`/v2/${ID}/v2/${ID}/x`, `/v2/${ID}/x`],
    [`//v2//${ID}/x`, "/x"],
  ])("%s asks for %s", (url, target) => {
    expect(addressOf(url, "localhost", undefined)).toMatchObject({ endpoint: ID, form: "path", target });
  });

  test.each([
    ["/v2/serverless"],
    ["/v2/network-volumes/x"],
    [`/v2/${ID}x/run`],
    [`/v2/${ID.toUpperCase()}/run`],
    [`/v1/${ID}`],
    [`/${ID}`],
    ["/v2"],
    ["*"],
    ["/docs"],
  ])("%s is nobody's", (url) => expect(addressOf(url, "localhost", undefined)).toBeUndefined());
});

describe("the host form", () => {
  test.each([[`${ID}.apps.example.com`], [`${ID}.apps.example.com:7420`], [`${ID.toUpperCase()}.Apps.Example.com`]])(
    "%s",
    (host) => {
      expect(addressOf("/v2/serverless?x=1", host, "apps.example.com")).toEqual({
        endpoint: ID,
        form: "host",
        target: "/v2/serverless?x=1",
        prefix: "",
      });
    },
  );

  test.each([
    ["apps.example.com"],
    ["console.apps.example.com"],
    [`x.${ID}.apps.example.com`],
    [`${ID}.apps.example.com.evil.net`],
    [`${ID}-apps.example.com`],
  ])("%s is nobody's", (host) => expect(addressOf("/x", host, "apps.example.com")).toBeUndefined());

  test("is off without a domain", () => expect(addressOf("/x", `${ID}.apps.example.com`, undefined)).toBeUndefined());
});
