/** A worker with a behaviour, which is a file beside this one: `node main.mjs <behaviour>`. */
await import(`./${process.argv[2]}.mjs`);
