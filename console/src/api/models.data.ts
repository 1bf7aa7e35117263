/** The models that forms and columns are made from. The build puts in the values: to make them in the browser took a tenth of a first load. */
import { models as allModels, records as allRecords } from "@millrace/platform/contract.ts";

export const models: typeof allModels = allModels;
export const records: typeof allRecords = allRecords;
