/** A button on each block of code that copies it. Browsers offer the clipboard on https and on the machine itself. */
const SHOWN_MS = 1500;

for (const block of navigator.clipboard ? document.querySelectorAll("pre") : []) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("code").textContent);
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = "Copy";
    }, SHOWN_MS);
  });
  // Beside the block and not in it: the block scrolls, and the button stays.
  const frame = document.createElement("div");
  frame.className = "code";
  block.replaceWith(frame);
  frame.append(block, button);
}
