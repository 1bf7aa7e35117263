/** The words that the catalog's records may use, for those who write it and those who read it. */

export const manufacturers = ["NVIDIA", "AMD", "UNKNOWN"] as const;

/** How much of something is free now. */
export const availabilities = ["NONE", "LOW", "MEDIUM", "HIGH"] as const;
export type Availability = (typeof availabilities)[number];

export const clouds = ["SECURE", "COMMUNITY"] as const;
export type Cloud = (typeof clouds)[number];

export const regions = [
  "NORTH_AMERICA",
  "SOUTH_AMERICA",
  "EUROPE",
  "ASIA",
  "MIDDLE_EAST",
  "AFRICA",
  "OCEANIA",
  "ANTARCTICA",
  "UNKNOWN",
] as const;

export const volumeTypes = ["STANDARD", "HIGH_PERFORMANCE"] as const;
export type VolumeType = (typeof volumeTypes)[number];

export const compliances = [
  "GDPR",
  "ISO_IEC_27001",
  "ISO_14001",
  "PCI_DSS",
  "HITRUST",
  "SOC_1_TYPE_2",
  "SOC_2_TYPE_2",
  "SOC_3_TYPE_2",
  "ITAR",
  "FISMA_HIGH",
  "HIPAA",
  "RENEWABLE",
] as const;
