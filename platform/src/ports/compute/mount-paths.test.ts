/** In a container a volume can be mounted nearly anywhere; on the host, some folders must not be hidden by a volume. */
import { describe, expect, test } from "vitest";
import { HOST_RESERVED, plainPath, refusedPath } from "./mount-paths.ts";

const inContainer = (path: string) => refusedPath(path, []);
const onHost = (path: string) => refusedPath(path, HOST_RESERVED);

describe("in a container a volume can be", () => {
  test.each([
    "/app",
    "/usr/src/app",
    "/workspace/",
    "/etc/x",
    "/var/lib/data",
    "/a b/ü",
    "/processes",
    "/opt",
    "/run/x",
  ])("at %s", (path) => expect(inContainer(path)).toBeUndefined());

  const refused = ["/", "//", "/.", "/x/..", "x", "", "/proc", "/proc/", "/sys/fs", "/dev/shm", "/x/../proc", "//dev"];
  test.each([...refused, "/a\0b", "/a\nb", "/a,source=/etc", `/${"x".repeat(256)}`])("not at %j", (path) =>
    expect(inContainer(path)).toMatch(/^nothing can be mounted at .*choose a folder.*\/workspace$/),
  );
});

describe("for a program on the host a volume can be", () => {
  test.each(["/workspace", "/data/", "/tmp/x", "/application", "/srv/data"])("at %s", (path) =>
    expect(onHost(path)).toBeUndefined(),
  );

  test.each(["/app", "/app/x", "/usr/src/app", "/x/../usr", "/etc", "/opt/x", "/var/lib", "/lib64", "/proc", "/"])(
    "not at %s",
    (path) => expect(onHost(path)).toContain("choose a folder of its own, such as /workspace"),
  );
});

test("a driver is given a path without a slash at its end, doubled slashes and steps back", () => {
  expect(["/workspace/", "//a///b//", "/a/./b/../c", "/a"].map(plainPath)).toEqual([
    "/workspace",
    "/a/b",
    "/a/c",
    "/a",
  ]);
});
