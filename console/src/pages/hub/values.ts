/** The values of a listing's variables in a form: what a preset fills in, and what is sent. */
import type { HubListingDetails } from "@millrace/platform/resources/hub/model.ts";

type Variable = HubListingDetails["variables"][number];
type Values = Readonly<Record<string, string>>;

/** What the form begins with: the defaults, and over them the values of a preset. */
export function initialValues({ variables, presets }: HubListingDetails, preset?: string): Values {
  const chosen = presets.find(({ name }) => name === preset)?.values ?? {};
  return Object.fromEntries(variables.map(({ key, default: standard }) => [key, chosen[key] ?? standard ?? ""]));
}

/** Only what differs from the listing's own value is sent, so that a newer release may change the others. */
export function chosenValues(listing: HubListingDetails, preset: string | undefined, values: Values): Values {
  const before = initialValues(listing, preset);
  return Object.fromEntries(Object.entries(values).filter(([key, value]) => value !== before[key]));
}

/** What a switch stands for. */
export const isOn = ({ trueValue = "true" }: Variable, value: string) => value === trueValue;
export const switched = ({ trueValue = "true", falseValue = "false" }: Variable, on: boolean) =>
  on ? trueValue : falseValue;
