/** Finds out which instances mount a volume, when several drivers of one machine share the volumes. */

/** Returns the instances that mount a volume and have not ended. */
export type UsersOf = (volume: string) => Promise<readonly string[]>;

export class VolumeUsers {
  readonly #drivers: UsersOf[] = [];

  /** Registers a driver's report of which instances mount a volume, whichever process started them. */
  toldBy(usersOf: UsersOf): void {
    this.#drivers.push(usersOf);
  }

  /** Rejects if a driver cannot tell. */
  async of(volume: string): Promise<string[]> {
    return (await Promise.all(this.#drivers.map((usersOf) => usersOf(volume)))).flat();
  }
}
