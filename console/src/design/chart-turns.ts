/** The order in which the charts of a page are built and drawn. */

type Step = () => void;
const waiting: Step[] = [];
let isUnderWay = false;

/**
 * Builds a chart and draws it in a task for each, after the charts before it, so that the page answers between them. The page itself is shown
 * before: a chart asks for its width, and the browser would lay out the whole page within that task. Returns what cancels it.
 */
export function inTurn(build: () => Step): () => void {
  let step: Step = () => {
    step = build();
    waiting.unshift(step);
  };
  waiting.push(step);
  if (!isUnderWay) {
    isUnderWay = true;
    requestAnimationFrame(() => setTimeout(turn));
  }
  return () => {
    const place = waiting.indexOf(step);
    if (place >= 0) waiting.splice(place, 1);
  };
}

function turn(): void {
  try {
    waiting.shift()?.();
  } finally {
    if (waiting.length > 0) setTimeout(turn);
    else isUnderWay = false;
  }
}
