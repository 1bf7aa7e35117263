/** Makes the pictures of a page small: a PNG with the 256 colours that it has most, which nobody can tell from all of them. */
import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MOST_COLORS = 256;

/** Takes what a browser makes: 8 bits for each of red, green and blue, with or without transparency, not interlaced. */
export function smallPng(png: Buffer): Buffer {
  const { width, height, bytes, data } = opened(png);
  const pixels = unfiltered(inflateSync(data), width * bytes, height, bytes);
  const colorAt = (place: number) => pixels.readUIntBE(place * bytes, 3);
  const counts = new Map<number, number>();
  for (let place = 0; place < width * height; place++)
    counts.set(colorAt(place), (counts.get(colorAt(place)) ?? 0) + 1);
  const palette = [...counts].toSorted(([, one], [, other]) => other - one).slice(0, MOST_COLORS);
  const colors = palette.map(([color]) => color);
  const numberOf = new Map([...counts.keys()].map((color) => [color, nearest(color, colors)]));
  const rows = Buffer.alloc((width + 1) * height);
  for (let place = 0; place < width * height; place++)
    rows[place + Math.floor(place / width) + 1] = numberOf.get(colorAt(place))!;
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // 8 bits a pixel, each the number of a colour.
  head.set([8, 3, 0, 0, 0], 8);
  const table = Buffer.from(colors.flatMap((color) => parts(color)));
  const blocks = [block("IHDR", head), block("PLTE", table), block("IDAT", deflateSync(rows, { level: 9 }))];
  return Buffer.concat([SIGNATURE, ...blocks, block("IEND", Buffer.alloc(0))]);
}

const parts = (color: number) => [color >> 16, (color >> 8) & 255, color & 255];

function nearest(color: number, colors: readonly number[]): number {
  const wanted = parts(color);
  const far = colors.map((other) => parts(other).reduce((sum, part, i) => sum + (part - wanted[i]!) ** 2, 0));
  return far.indexOf(Math.min(...far));
}

function opened(png: Buffer) {
  const data: Buffer[] = [];
  for (let at = SIGNATURE.length; at < png.length; at += png.readUInt32BE(at) + 12)
    if (png.toString("latin1", at + 4, at + 8) === "IDAT")
      data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  const bytes = { 2: 3, 6: 4 }[png[25]!];
  if (png[24] !== 8 || bytes === undefined || png[28] !== 0) throw new Error("This is no PNG of a browser.");
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20), bytes, data: Buffer.concat(data) };
}

/** Each row says how its bytes are told by those to the left and above. */
function unfiltered(rows: Buffer, length: number, height: number, bytes: number): Buffer {
  const out = Buffer.alloc(length * height);
  for (let y = 0; y < height; y++) {
    const filter = rows[y * (length + 1)]!;
    for (let x = 0; x < length; x++) {
      const at = y * length + x;
      const left = x >= bytes ? out[at - bytes]! : 0;
      const above = y > 0 ? out[at - length]! : 0;
      const corner = x >= bytes && y > 0 ? out[at - length - bytes]! : 0;
      const told = [0, left, above, (left + above) >> 1, likeliest(left, above, corner)][filter]!;
      out[at] = rows[y * (length + 1) + 1 + x]! + told;
    }
  }
  return out;
}

function likeliest(left: number, above: number, corner: number): number {
  const guess = left + above - corner;
  const [byLeft, byAbove, byCorner] = [left, above, corner].map((one) => Math.abs(guess - one)) as [
    number,
    number,
    number,
  ];
  if (byLeft <= byAbove && byLeft <= byCorner) return left;
  return byAbove <= byCorner ? above : corner;
}

function block(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const whole = Buffer.alloc(named.length + 8);
  whole.writeUInt32BE(data.length, 0);
  named.copy(whole, 4);
  whole.writeUInt32BE(crc32(named), named.length + 4);
  return whole;
}
