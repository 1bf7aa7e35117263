/** The fake of passwords is as the port says. */
import { FakePasswords } from "./fake-passwords.ts";
import { passwordsConformance } from "./passwords.conformance.ts";

passwordsConformance("FakePasswords", () => new FakePasswords());
