/** After a sign-in nobody lands on another site, whatever the address said. */
import { expect, test } from "vitest";
import { nextOf } from "./next.ts";

const HERE = "https://console.example.com";

test.each(["/", "/pods", "/serverless/e1/jobs?status=FAILED#j3"])("%s is a page of the console", (path) => {
  expect(nextOf(path, HERE)).toBe(path);
});

test.each([
  "//evil.example",
  "/\\evil.example",
  "/\t/evil.example",
  "https://evil.example/",
  "javascript:alert(1)",
  "evil.example",
  "/./\\/evil.example",
  "/..//evil.example",
  "/sign-in?next=/sign-in",
  "/sign-in/provider?code=x&state=y",
  "",
  undefined,
])("%s leads to the overview", (path) => {
  expect(nextOf(path, HERE)).toBe("/");
});
