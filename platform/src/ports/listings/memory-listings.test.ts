/** Listings in memory pass the suite of every source. */
import { listingsConformance } from "./listings.conformance.ts";
import { MemoryListings } from "./memory-listings.ts";

listingsConformance("MemoryListings", async (files) => {
  const source = new MemoryListings(files);
  return {
    source,
    async put(changed) {
      source.files = changed;
    },
    async [Symbol.asyncDispose]() {},
  };
});
