/** An application that sends every body back unchanged. */
import { createServer } from "node:http";

createServer((request, response) => request.pipe(response)).listen(Number(process.env.PORT));
