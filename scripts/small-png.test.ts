/** Pictures of pages made small: the same picture, told by the numbers of its colours. */
import { crc32, deflateSync, inflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { smallPng } from "./small-png.ts";

const RED = [255, 0, 0];
const BLUE = [0, 0, 255];

function block(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}

/** Three pixels wide, with a filter at the beginning of each row. */
function picture(...rows: number[][]): Buffer {
  const head = Buffer.from([0, 0, 0, 3, 0, 0, 0, rows.length, 8, 2, 0, 0, 0]);
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  const data = block("IDAT", deflateSync(Buffer.from(rows.flat())));
  return Buffer.concat([signature, block("IHDR", head), data, block("IEND", Buffer.alloc(0))]);
}

function contentOf(png: Buffer, name: string): Buffer {
  const at = png.indexOf(name, 0, "latin1");
  return png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4));
}

test("each pixel is the number of its colour, and the colour that is used most comes first", () => {
  const plain = [0, ...RED, ...RED, ...BLUE];
  const toTheLeft = [1, ...RED, 0, 0, 0, 1, 0, 255];
  const asAbove = [2, 0, 0, 0, 0, 0, 0, 0, 0, 0];
  const small = smallPng(picture(plain, toTheLeft, asAbove));
  expect([...contentOf(small, "PLTE")]).toEqual([...RED, ...BLUE]);
  const row = [0, 0, 0, 1];
  expect([...inflateSync(contentOf(small, "IDAT"))]).toEqual([...row, ...row, ...row]);
});

test("another kind of picture is refused", () => {
  const other = picture([0, ...RED, ...RED, ...RED]);
  other[24] = 16;
  expect(() => smallPng(other)).toThrow("no PNG of a browser");
});
