/** How instances reach the server at the machine that they run on. */
export interface Link {
  /** The host name or address under which instances reach it; some drivers know it once their first image was prepared. */
  readonly host: string;
  /** Lets instances reach the server at this port of `host`. */
  open(port: number): Promise<void>;
}
