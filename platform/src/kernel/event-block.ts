/** Server-sent events that travel together: their text is made once, however many clients it is sent to. */

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

  /** The events as they are sent. Whoever writes them shares these bytes with others, and changes nothing of them. */
  get bytes(): Buffer {
    this.#bytes ??= Buffer.from(this.#events.map(eventText).join(""));
    // They would only take memory beside their own text.
    this.#events = [];
    return this.#bytes;
  }
}
