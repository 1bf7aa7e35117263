/** Settings that are refused before anything is started with them. */
import { expect, test } from "vitest";
import { settingsFrom } from "./settings.ts";

const nodeUrl = (text: string) => settingsFrom({ MILLRACE_NODE_URL: text }).nodeUrl;

test("the address of a node is an origin, with or without the slash at its end", () => {
  expect(nodeUrl("http://10.0.0.5:7420")).toBe("http://10.0.0.5:7420");
  expect(nodeUrl("https://a.example/")).toBe("https://a.example");
  expect(nodeUrl("")).toBe(undefined);
});

test.each(["10.0.0.5:7420", "ftp://a", "http://a/base", "http://a/?x=1", "http://user:pass@a"])(
  "'%s' is no address of a node",
  (text) => {
    expect(() => nodeUrl(text)).toThrow("MILLRACE_NODE_URL must be a URL such as http://10.0.0.5:7420 without a path");
  },
);
