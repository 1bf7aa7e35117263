/** How a browser is told of a file that a program wrote: nothing of it may run on the server's origin. */

/** Pictures that are nothing but pictures. SVG is none of them, since it holds scripts. */
const IMAGES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  bmp: "image/bmp",
  ico: "image/x-icon",
};

export function headersOf(name: string, isPreview: boolean): Record<string, string> {
  return {
    "Content-Type": isPreview ? previewType(name) : "application/octet-stream",
    "Content-Disposition": `${isPreview ? "inline" : "attachment"}; ${fileName(name)}`,
    // It has an origin of its own, in which nothing runs and from which nothing is loaded.
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
  };
}

function previewType(name: string): string {
  const ending = /\.(\w{1,8})$/.exec(name)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(IMAGES, ending) ? IMAGES[ending]! : "text/plain; charset=utf-8";
}

/** As RFC 6266 has it: in full for those who know that form, and without odd characters for the others. */
function fileName(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  const full = encodeURIComponent(name).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `filename="${plain}"; filename*=UTF-8''${full}`;
}
