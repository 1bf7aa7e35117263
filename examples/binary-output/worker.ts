/** Draws a picture and returns it as base64 with its media type, since the output of a job is JSON. */
import { crc32, deflateSync } from "node:zlib";
import { start } from "millrace-worker";

const LARGEST = 2048;

start<{ width: number; height: number }>({
  handler({ input: { width, height } }) {
    if (!(Math.min(width, height) >= 1 && Math.max(width, height) <= LARGEST))
      throw new RangeError(`width and height must be from 1 to ${LARGEST}`);
    return { type: "image/png", base64: picture(width, height).toString("base64") };
  },
});

/** A gray PNG that gets brighter from left to right. */
function picture(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  // Each row begins with its filter: 0 for none.
  const row = Buffer.from([0, ...Array.from({ length: width }, (_, x) => Math.floor((x * 256) / width))]);
  const rows = Buffer.concat(Array.from({ length: height }, () => row));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk("IHDR", header), chunk("IDAT", deflateSync(rows)), chunk("IEND")]);
}

function chunk(type: string, content: Buffer = Buffer.alloc(0)): Buffer {
  const named = Buffer.concat([Buffer.from(type), content]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}
