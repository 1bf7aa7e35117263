/** How instances reach the server on the machine where they run. */
export interface Link {
  /** The host name or address of the server, as instances see it. Some drivers know it only after they prepared their first image. */
  readonly host: string;
  /** Lets instances reach the server at this port of `host`. */
  open(port: number): Promise<void>;
}
