/** Runs the behaviour in a file beside this one: `node main.mjs <behaviour>`. */
await import(`./${process.argv[2]}.mjs`);
