/** A program that writes many lines and keeps running. */
const line = `${"word ".repeat(100)}\n`;
process.stdout.write(line.repeat(5000));
setInterval(() => process.stdout.write(line.repeat(100)), 20);
