/** Settings that are refused before anything is started with them. */
import { expect, test } from "vitest";
import { settingsFrom, settingTable, withoutSecrets } from "./settings.ts";

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

test("folders of host images are absolute paths", () => {
  expect(settingsFrom({ MILLRACE_HOST_ROOTS: "/srv/a:/srv/b" }).hostRoots).toEqual(["/srv/a", "/srv/b"]);
  expect(settingsFrom({}).hostRoots).toBeUndefined();
  expect(() => settingsFrom({ MILLRACE_HOST_ROOTS: "/srv/a:b" })).toThrow("absolute paths with colons between");
});

test("published ports are a range of those that need no privilege", () => {
  expect(settingsFrom({}).publishedPorts).toEqual({ first: 20_000, last: 29_999 });
  expect(settingsFrom({ MILLRACE_PUBLISHED_PORTS: "30000-30001" }).publishedPorts).toEqual({
    first: 30_000,
    last: 30_001,
  });
  for (const wrong of ["80-90", "30000", "30000-30000", "30001-30000", "60000-70000", "a-b"])
    expect(() => settingsFrom({ MILLRACE_PUBLISHED_PORTS: wrong }), wrong).toThrow(
      "MILLRACE_PUBLISHED_PORTS must be a range",
    );
});

test("what is secret has no flag, and reaches no program that this one starts", () => {
  const all = Object.fromEntries(Object.values(settingTable).map(({ variable }) => [variable, "x"]));
  const left = withoutSecrets({ ...all, VAULT_TOKEN: "y" });
  const flagless = Object.values(settingTable).filter(({ flag }) => flag === "");
  expect(
    Object.keys(all)
      .filter((name) => !(name in left))
      .sort(),
  ).toEqual(flagless.map(({ variable }) => variable).sort());
  expect(left).toHaveProperty("VAULT_TOKEN", "y");
});

test("a flag does not set the URL of the database", () => {
  expect(settingsFrom({ MILLRACE_DATABASE_URL: "postgres://a" }, { databaseUrl: "postgres://b" }).databaseUrl).toBe(
    "postgres://a",
  );
});
