/** Reads fields of a listing's files. A wrong one is noted with its file, its path and the reason, and reading goes on. */
import { clip, memberPath, parseJson } from "../../kernel/json.ts";
import type { Fault, TextFile } from "../../ports/listings/listings.ts";

export type Json = Record<string, unknown>;
export type Scalar = string | number | boolean;

export class Fields {
  readonly faults: Fault[];
  readonly #file: string;
  readonly #path: string;
  readonly #values: Json;

  constructor(file: string, path: string, values: Json, faults: Fault[]) {
    this.#file = file;
    this.#path = path;
    this.#values = values;
    this.faults = faults;
  }

  /** The fields of a file that must be one JSON object; undefined if it is not. */
  static of({ path, text }: TextFile, faults: Fault[]): Fields | undefined {
    try {
      const value = parseJson(Buffer.from(text));
      if (isObject(value)) return new Fields(path, "$", value, faults);
      faults.push({ file: path, field: "$", why: "must be a JSON object" });
    } catch (error) {
      const { message, errors } = error as Error & { errors?: string[] };
      faults.push({
        file: path,
        field: "",
        why: errors?.join("; ") ?? message.replace("The request body", "The file"),
      });
    }
    return undefined;
  }

  get values(): Json {
    return this.#values;
  }

  has(name: string): boolean {
    return this.#values[name] !== undefined && this.#values[name] !== null;
  }

  fault(name: string, why: string): undefined {
    const field = name === "" ? this.#path : memberPath(this.#path, clip(name));
    this.faults.push({ file: this.#file, field, why });
  }

  text(name: string, most: number, otherwise = ""): string {
    const value = this.#values[name];
    if (value === undefined || value === null) return otherwise;
    if (typeof value !== "string") this.fault(name, "must be a text");
    else if (value.length > most) this.fault(name, `has ${value.length} characters, of ${most} at most`);
    else return value;
    return otherwise;
  }

  word<const V extends string>(name: string, allowed: readonly V[], otherwise: V): V {
    if (!this.has(name)) return otherwise;
    const value = this.#values[name];
    const found = allowed.find((one) => typeof value === "string" && one.toLowerCase() === value.trim().toLowerCase());
    if (found === undefined) this.fault(name, `must be one of ${allowed.join(", ")}`);
    return found ?? otherwise;
  }

  whole(name: string, { least, most, otherwise }: { least: number; most: number; otherwise: number }): number {
    if (!this.has(name)) return otherwise;
    const value = this.#values[name];
    if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
    this.fault(name, `must be a whole number from ${least} to ${most}`);
    return otherwise;
  }

  number(name: string): number | undefined {
    if (!this.has(name)) return undefined;
    const value = this.#values[name];
    return typeof value === "number" ? value : this.fault(name, "must be a number");
  }

  flag(name: string, otherwise = false): boolean {
    if (!this.has(name)) return otherwise;
    const value = this.#values[name];
    if (typeof value !== "boolean") this.fault(name, "must be true or false");
    return value === true;
  }

  /** A text, a number or a boolean. */
  scalar(name: string, most: number): Scalar | undefined {
    if (!this.has(name)) return undefined;
    const value = this.#values[name];
    if (typeof value === "string" && value.length > most)
      return this.fault(name, `has ${value.length} characters, of ${most} at most`);
    return isScalar(value) ? value : this.fault(name, "must be a text, a number, or true or false");
  }

  texts(name: string, { most, longest }: { most: number; longest: number }): string[] {
    return this.#list(name, most).flatMap((value, at) => {
      if (typeof value === "string" && value.length <= longest) return [value];
      this.fault(name, `[${at}] must be a text of at most ${longest} characters`);
      return [];
    });
  }

  /** An object in a field; undefined if there is none. */
  object(name: string): Fields | undefined {
    if (!this.has(name)) return undefined;
    const value = this.#values[name];
    if (!isObject(value)) return this.fault(name, "must be an object");
    return new Fields(this.#file, memberPath(this.#path, clip(name)), value, this.faults);
  }

  objects(name: string, most: number): Fields[] {
    return this.#list(name, most).flatMap((value, at) => {
      const path = `${memberPath(this.#path, clip(name))}[${at}]`;
      if (isObject(value)) return [new Fields(this.#file, path, value, this.faults)];
      this.faults.push({ file: this.#file, field: path, why: "must be an object" });
      return [];
    });
  }

  #list(name: string, most: number): unknown[] {
    if (!this.has(name)) return [];
    const value = this.#values[name];
    if (!Array.isArray(value)) this.fault(name, "must be a list");
    else if (value.length > most) this.fault(name, `has ${value.length} items, of ${most} at most`);
    else return value;
    return [];
  }
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isScalar = (value: unknown): value is Scalar =>
  typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value));
