/** The port that a person most likely adds next. */

/** The usual port of a web server, or the next that is not in the list. */
export function nextPort(ports: readonly (readonly [string, string])[]): string {
  let number = 8080;
  while (ports.some(([one]) => one === String(number))) number++;
  return String(number);
}
