/** How changes of a release are told. */
import { expect, it } from "vitest";
import { changeLabel, changeText } from "./changes.ts";

it("names fields as the settings do", () => {
  expect(changeLabel("template.imageName")).toBe("Image");
  expect(changeLabel("template.env")).toBe("Environment");
  expect(changeLabel("gpuCount")).toBe("GPU count");
});

it("tells values in words", () => {
  expect(changeText(null)).toBe("none");
  expect(changeText({ A: "1", B: "2" })).toBe("A=1, B=2");
  expect(changeText(["US-KS-2", "EU-RO-1"])).toBe("US-KS-2, EU-RO-1");
  expect(changeText({})).toBe("none");
  expect(changeText("x".repeat(1000))).toHaveLength(401);
});

it("tells a start command as it is typed", () => {
  expect(changeText('{"entrypoint":[],"cmd":["node","worker.ts"]}')).toBe("node worker.ts");
  expect(changeText("{broken")).toBe("{broken");
});
