/** The version of this program. A test keeps it equal to that of the packages. */
export const VERSION = "0.1.0";
