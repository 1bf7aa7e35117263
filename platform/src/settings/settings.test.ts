/** Settings that are refused before anything starts with them. */
import { expect, test } from "vitest";
import { allSettings, settingsFrom, withoutSecrets } from "./settings.ts";

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
  const all = Object.fromEntries(allSettings.map(({ variable }) => [variable, "x"]));
  const left = withoutSecrets({ ...all, VAULT_TOKEN: "y" });
  const flagless = allSettings.filter(({ flag }) => flag === undefined);
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

test("what is said of nothing is what the defaults say, and what has none is absent", () => {
  const settings = settingsFrom({});
  expect(settings).toMatchObject({ port: 7420, rateLimits: [{ quota: 600 }, { quota: 18_000 }, { quota: 200_000 }] });
  expect(settings).toMatchObject({
    invokeLimits: undefined,
    corsOrigins: undefined,
    quotas: undefined,
    apiKey: undefined,
  });
  expect(settings.outputMb).toEqual({ program: 12, machine: 1024 });
});

test("a flag wins over a variable, a variable over the default, and an empty variable is none", () => {
  const port = (variable?: string, flag?: string) => settingsFrom({ MILLRACE_PORT: variable }, { port: flag }).port;
  expect([port(), port(""), port("1"), port("1", "2")]).toEqual([7420, 7420, 1, 2]);
});

test.each([
  ["MILLRACE_PORT", "65536", "must be a whole number from 0 to 65535, not '65536'"],
  ["MILLRACE_GPUS", "some", "must be one of auto, virtual, none, not 'some'"],
  ["MILLRACE_RATE_LIMITS", "1,2", "must be 'off' or three numbers for minute, hour and day, not '1,2'"],
  [
    "MILLRACE_QUOTAS",
    "dogs=1",
    "must be written such as workers=50,endpoints=20, of workers, pods, gpus, vcpu, volumes, gb, endpoints, keys, secrets, registries, templates, s3keys, not 'dogs=1'",
  ],
  ["MILLRACE_INVOKE_LIMITS", "walk=1", "must be 'on', 'off' or a list such as run=1000/200 of"],
  ["MILLRACE_PAYLOAD_LIMITS", "0,1,1", "must be three numbers of MB from 1 to 256"],
  ["MILLRACE_REACHABLE", "here", "must be 'all', or addresses and ranges such as 10.0.0.0/8, not 'here'"],
  [
    "MILLRACE_CORS_ORIGINS",
    "app",
    "must be '*' or a comma separated list of origins such as https://app.example.com, not 'app'",
  ],
  ["MILLRACE_PUBLIC_URL", "millrace.example.com", "must be a URL such as https://millrace.example.com, not"],
  ["MILLRACE_DOMAIN", "https://pods.example.com", "must be a domain such as pods.example.com, not 'https://"],
  ["MILLRACE_WEBHOOK_PRIVATE", "yes", "must be one of allow, not 'yes'"],
  ["MILLRACE_LOG_LEVEL", "loud", "must be one of debug, info, warn, error, silent, not 'loud'"],
  ["MILLRACE_OIDC_ISSUER", "http://id.example.com", "must be the https URL of an OpenID Connect issuer such as"],
  ["MILLRACE_OIDC_SCOPES", "email", "must be scopes with spaces between, one of them openid, not 'email'"],
  ["MILLRACE_OIDC_GROUPS", "ml=research:king", "must be up to 500 rules such as 'ml=research:member; admins=operator'"],
  ["MILLRACE_OUTPUT_MB", "9,3", "must be two whole numbers such as 12,1024, the larger one last, not '9,3'"],
])("%s=%s is refused with its name and what it must be", (variable, given, reason) => {
  expect(() => settingsFrom({ [variable]: given })).toThrow(`${variable} ${reason}`);
});

test("a secret that is refused is not in the refusal", () => {
  const refused = () => settingsFrom({ MILLRACE_API_KEY: "short" });
  expect(refused).toThrow(/^MILLRACE_API_KEY must have 16 or more visible ASCII characters$/);
});

test.each([
  "mysql://ada@127.0.0.1/records",
  "127.0.0.1/records",
  "postgres://ada:se#cret@127.0.0.1/records",
  "postgres://ada:5432#cret@127.0.0.1/records",
  "postgres://ada:5432?cret@127.0.0.1/records",
  "postgres://ada:5432/cret@127.0.0.1/records",
])("%s is no URL of PostgreSQL, and a password in it is not in the refusal", (given) => {
  const refused = () => settingsFrom({ MILLRACE_DATABASE_URL: given });
  expect(refused).toThrow(/^MILLRACE_DATABASE_URL must be a URL such as postgres:/);
  expect(refused).not.toThrow("cret@");
});

test.each([
  "postgres://ada:se%23cret@127.0.0.1:5432/records?sslmode=require",
  "postgresql://ada@%2Fvar%2Frun%2Fpostgresql/records",
  "postgres:///records?host=/var/run/postgresql&user=ada@server",
])("%s is a URL of PostgreSQL", (given) => {
  expect(settingsFrom({ MILLRACE_DATABASE_URL: given }).databaseUrl).toBe(given);
});

test("a collector of traces has its password in the headers, and not in its URL, where the log would show it", () => {
  const refused = () => settingsFrom({ MILLRACE_TRACES_URL: "http://ada:secret@127.0.0.1:4318" });
  expect(refused).toThrow(
    /^MILLRACE_TRACES_URL must have no user and no password: .*, not 'http:\/\/…@127.0.0.1:4318'$/,
  );
});

test("rules of groups may have the characters that directories put into names", () => {
  const { oidcGroups } = settingsFrom({
    MILLRACE_OIDC_GROUPS: "CN=ml,OU=x=research:member; /a/b c=operator;\n*=lab:viewer",
  });
  expect(oidcGroups).toEqual([
    { group: "CN=ml,OU=x", account: "research", role: "member" },
    { group: "/a/b c", role: "owner" },
    { group: "*", account: "lab", role: "viewer" },
  ]);
});
