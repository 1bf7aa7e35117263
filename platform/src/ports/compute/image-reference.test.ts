/** References to images are read as container engines read them. */
import { expect, test } from "vitest";
import { exactly, isReference, isSame, parseReference } from "./image-reference.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;

test.each([
  ["alpine", "docker.io/library/alpine", "latest", undefined],
  ["alpine:3", "docker.io/library/alpine", "3", undefined],
  ["someone/image:1.2", "docker.io/someone/image", "1.2", undefined],
  ["index.docker.io/someone/image", "docker.io/someone/image", "latest", undefined],
  ["docker.io/library/alpine", "docker.io/library/alpine", "latest", undefined],
  ["localhost/image", "localhost/image", "latest", undefined],
  ["127.0.0.1:5000/a/b", "127.0.0.1:5000/a/b", "latest", undefined],
  ["127.0.0.1:5000/a/b:1", "127.0.0.1:5000/a/b", "1", undefined],
  [`alpine@${DIGEST}`, "docker.io/library/alpine", undefined, DIGEST],
  [`registry.example/a:1@${DIGEST}`, "registry.example/a", undefined, DIGEST],
])("%s", (image, repository, tag, digest) => {
  expect(parseReference(image)).toMatchObject({ repository, tag, digest });
});

test("the same image has many spellings, and another tag is another", () => {
  expect(isSame("alpine", "docker.io/library/alpine:latest")).toBe(true);
  expect(isSame("alpine:1", "alpine:2")).toBe(false);
  expect(isSame("alpine", `alpine@${DIGEST}`)).toBe(false);
  expect(isSame("a/alpine", "alpine")).toBe(false);
});

test("an exact reference keeps the name as it was written, without the tag", () => {
  expect(exactly(parseReference("127.0.0.1:5000/a:1"), DIGEST)).toBe(`127.0.0.1:5000/a@${DIGEST}`);
});

test.each(["../containers/x", "a/../b", "/a", "a/", "a b", "a?b=c", "a#b", "", "ä", "x".repeat(513)])(
  "'%s' would mean something else in a request",
  (image) => expect(isReference(image)).toBe(false),
);

test.each(["alpine", "a.b/c_d-e:1", `r.example:5000/a@${DIGEST}`])("%s can be asked for", (image) =>
  expect(isReference(image)).toBe(true),
);
