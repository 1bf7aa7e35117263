/** Saves the credential of a registry. */
import { resources } from "../../api/resources.ts";
import { CreatePage } from "../../parts/resource-form.tsx";

export function CreateRegistry() {
  return (
    <CreatePage
      resource={resources.registries}
      title="Add a registry"
      about="A user name and a password or token, with which private images are pulled."
      first={["name", "username", "password"]}
      summary={() => (
        <p>
          Choose it as the <strong>Registry</strong> of a Pod, an endpoint or a template. User name and password cannot
          be read back: to change them, add the registry again under another name.
        </p>
      )}
    />
  );
}
