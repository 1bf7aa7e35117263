/** Certificates of localhost for tests, which protect nothing. */
import { readFileSync } from "node:fs";

const read = (name: string) => readFileSync(new URL(`./fixtures/tls/${name}`, import.meta.url), "utf8");

const pair = (name: string, serialNumber: string) => ({
  certificate: { cert: read(`${name}.crt`), key: read(`${name}.key`) },
  serialNumber,
});

export const first = pair("first", "01");
export const second = pair("second", "02");
