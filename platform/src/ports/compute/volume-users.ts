/** Who mounts volumes, where several drivers of one machine are given the same ones. */

/** Instances that mount a volume and have not ended. */
export type UsersOf = (volume: string) => Promise<readonly string[]>;

export class VolumeUsers {
  readonly #drivers: UsersOf[] = [];

  /** A driver says which of its instances mount a volume, whichever process started them. */
  toldBy(usersOf: UsersOf): void {
    this.#drivers.push(usersOf);
  }

  /** Rejects where a driver cannot tell. */
  async of(volume: string): Promise<string[]> {
    return (await Promise.all(this.#drivers.map((usersOf) => usersOf(volume)))).flat();
  }
}
