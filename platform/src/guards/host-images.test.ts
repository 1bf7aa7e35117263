/** Who may run programs from the machine's own files. */
import { expect, test } from "vitest";
import { type HostModes, hostPolicy, imagePolicy } from "./host-images.ts";

const policy = (modes: Partial<HostModes> = {}, sandboxed = true) =>
  hostPolicy(
    { hostImages: "auto", sandbox: "auto", ...modes },
    { isOwners: async (account) => account === "first", isIsolated: () => sandboxed },
  );

test("auto means the owner's account alone, wherever the server listens", async () => {
  expect(await policy()("first")).toBeUndefined();
  expect(await policy()("second")).toMatch(
    /only the installation's owner may run 'host' images \(MILLRACE_HOST_IMAGES=on allows/,
  );
});

test("on means every account, but nobody else's programs without a sandbox", async () => {
  expect(await policy({ hostImages: "on" })("second")).toBeUndefined();
  expect(await policy({ hostImages: "on" }, false)("first")).toBeUndefined();
  expect(await policy({ hostImages: "on" }, false)("second")).toMatch("cannot be isolated from this machine");
  expect(await policy({ hostImages: "on", sandbox: "optional" }, false)("second")).toBeUndefined();
});

test("off means nobody", async () => {
  expect(await policy({ hostImages: "off" })("first")).toMatch("switched off");
});

test("an image is judged by who sends it, then by its folder; those of containers by neither", async () => {
  const refuses = imagePolicy({ refusesHost: policy(), refusesFolder: async (image) => `no ${image}` });
  expect(await refuses("alpine", "second")).toBeUndefined();
  expect(await refuses("host", "second")).toMatchObject({ code: "not-allowed" });
  expect(await refuses("host:/proc", "first")).toEqual({ code: "invalid", reason: "no host:/proc" });
  expect(await imagePolicy({ refusesHost: policy(), refusesFolder: undefined })("host:/proc", "first")).toBeUndefined();
});
