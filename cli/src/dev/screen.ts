/** Writes what a developer sees: one line for each thing that happens, with who says it in front. */
import { styleText } from "node:util";

const SHOWN_OUTPUT = 4000;
/** A worker's name on the screen is the end of its id. */
const SHORT_ID = 4;

export class Screen {
  readonly #out: NodeJS.WritableStream;
  readonly #isColoured: boolean;

  constructor(out: NodeJS.WritableStream & { isTTY?: boolean }) {
    this.#out = out;
    this.#isColoured = out.isTTY === true;
  }

  line(text = ""): void {
    this.#out.write(`${text}\n`);
  }

  /** What Millrace itself says. */
  note(text: string): void {
    this.line(this.#style("cyan", `» ${text}`));
  }

  trouble(text: string): void {
    this.line(this.#style("red", `! ${text}`));
  }

  /** A line of a worker's program, or of the platform about it. */
  worker(id: string, line: string, source: "container" | "system"): void {
    const name = this.#style("dim", `${shortId(id)} ${source === "system" ? "·" : "|"}`);
    this.line(`${name} ${source === "system" ? this.#style("dim", line) : line}`);
  }

  value(value: unknown): void {
    const text = JSON.stringify(value, null, 2) ?? "nothing";
    const shown = text.length > SHOWN_OUTPUT ? `${text.slice(0, SHOWN_OUTPUT)}\n… ${text.length} characters` : text;
    for (const line of shown.split("\n")) this.line(`  ${line}`);
  }

  #style(style: "cyan" | "red" | "dim", text: string): string {
    return this.#isColoured ? styleText(style, text) : text;
  }
}

export const shortId = (id: string) => id.slice(-SHORT_ID);
