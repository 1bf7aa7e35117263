/** Class names of CSS modules: a name that is not in the file is undefined, which React leaves out. */
declare module "*.module.css" {
  const names: Readonly<Record<string, string>>;
  export default names;
}
