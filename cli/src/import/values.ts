/** The values that no API returns: secrets, and the users and passwords of registries. They come from a file, or are asked for. */
import { textFrom } from "../ask.ts";
import { wrongUse } from "../failure.ts";
import type { Shell } from "../shell.ts";
import { type Definition, type Fields, isFields, shown } from "./definition.ts";

interface Given {
  secrets: Fields;
  registries: Fields;
}

export class Values {
  readonly #shell: Shell;
  readonly #given: Given;

  constructor(shell: Shell, given: Given) {
    this.#shell = shell;
    this.#given = given;
  }

  static async open(shell: Shell, file: string | undefined): Promise<Values> {
    if (file === undefined) return new Values(shell, { secrets: {}, registries: {} });
    const { secrets = {}, registries = {} } = fieldsIn(await textFrom(file, shell.stdin), file);
    if (!isFields(secrets) || !isFields(registries))
      throw wrongUse(`${file}: 'secrets' and 'registries' must be objects, with a value for each name`);
    return new Values(shell, { secrets, registries });
  }

  /** Whether a value is in the file, or can be asked for. */
  has({ kind, name }: Definition): boolean {
    const given = kind === "secrets" ? this.#given.secrets : this.#given.registries;
    return Object.hasOwn(given, name) || this.#canAsk;
  }

  /** The fields that complete the body of a secret or registry, or undefined where the person gives none. */
  async of(definition: Definition): Promise<Fields | undefined> {
    return definition.kind === "secrets" ? this.#secret(definition.name) : this.#registry(definition.name);
  }

  async #secret(name: string): Promise<Fields | undefined> {
    const { secrets } = this.#given;
    const value = Object.hasOwn(secrets, name) ? secrets[name] : await this.#ask(`Value of secret '${shown(name)}'`);
    return value === "" || value === undefined ? undefined : { value };
  }

  async #registry(name: string): Promise<Fields | undefined> {
    const { registries } = this.#given;
    if (Object.hasOwn(registries, name)) {
      const { username, password } = isFields(registries[name]) ? registries[name] : {};
      return { username, password };
    }
    const username = await this.#ask(`User at registry '${shown(name)}'`);
    const password = username ? await this.#ask(`Password at registry '${shown(name)}'`) : undefined;
    return password ? { username, password } : undefined;
  }

  get #canAsk(): boolean {
    return this.#shell.stdin.isTTY && this.#shell.stderr.isTTY;
  }

  async #ask(what: string): Promise<string | undefined> {
    if (!this.#canAsk) return undefined;
    const { askHidden } = await import("../ask.ts");
    return askHidden(this.#shell, `${what} (empty leaves it out): `, "give it in a file with --values");
  }
}

function fieldsIn(text: string, file: string): Fields {
  try {
    const value: unknown = JSON.parse(text);
    if (isFields(value)) return value;
  } catch {
    // The sentence below says it. The text may hold secrets, so none of it is repeated.
  }
  throw wrongUse(
    `${file} must hold JSON such as {"secrets": {"TOKEN": "…"}, "registries": {"hub": {"username": "…", "password": "…"}}}`,
  );
}
