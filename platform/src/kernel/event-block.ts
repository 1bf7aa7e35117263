/** Server-sent events that are sent together: their text is made once, however many clients receive it. */

export interface ServerEvent<T = unknown> {
  id: string;
  data: T;
}

export function eventText({ id, name, data }: { id?: string; name?: string; data: unknown }): string {
  return `${id ? `id: ${id}\n` : ""}${name ? `event: ${name}\n` : ""}data: ${JSON.stringify(data)}\n\n`;
}

export class EventBlock<T = unknown> {
  #events: readonly ServerEvent<T>[];
  #bytes: Buffer | undefined;

  constructor(events: readonly ServerEvent<T>[]) {
    this.#events = events;
  }

  /** The bytes to send. All clients share them, so nobody may change them. */
  get bytes(): Buffer {
    this.#bytes ??= Buffer.from(this.#events.map(eventText).join(""));
    // The text is all that is needed from now on, so the events are released.
    this.#events = [];
    return this.#bytes;
  }
}
