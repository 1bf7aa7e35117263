/** How the console is built: hashed files, split by page, for browsers of the last two years. */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    target: ["chrome125", "firefox128", "safari17.5"],
    outDir: "dist",
    emptyOutDir: true,
    // The security policy of the page allows no scripts or fonts in `data:` addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { "^/(v1|v2|graphql)": { target: "http://127.0.0.1:7420", ws: true } } },
});
