import { contentId } from "../shell/frame.tsx"

const controls = [
  "a[href]",
  "button:not(:disabled)",
  "input:not(:disabled, [type=hidden])",
  "summary",
  "select:not(:disabled)",
  "textarea:not(:disabled)",
  "[tabindex='0']",
].join()

/**
 * Whoever works by keyboard goes on where they were. What has the focus may go: a row that is
 * removed, a button in whose place another one comes, a page that was on its way. Then the focus
 * goes to what is nearest to where it was, and never back to the beginning.
 *
 * Returns a function that moves the focus to an element: at once, or when it is shown, as the
 * content of a page that still loads is hidden.
 */
export function keepFocus(): (element: HTMLElement) => void {
  /** What has the focus, and all that it is in. */
  let path: readonly Element[] = []
  document.addEventListener("focusin", ({ target }) => {
    path = target instanceof Element ? [target, ...ancestorsOf(target)] : []
  })
  // Whoever clicks beside everything means that.
  const forget = () => {
    path = []
  }
  document.addEventListener("pointerdown", forget, { capture: true })
  const look = () => {
    const [last, ...around] = path
    // Beyond the last control of a page, the keyboard is in the browser's own.
    if (!last || document.activeElement !== document.body || !document.hasFocus()) return
    // While a page loads there may be no content: the focus waits for it.
    const nearest = () => (last.id === contentId ? undefined : nearestIn(around))
    const next = last.isConnected ? last : (sameAs(last) ?? nearest())
    if (next instanceof HTMLElement) next.focus({ preventScroll: next.id === contentId })
  }
  // What is busy is disabled for a moment, and gets the focus back.
  const attributeFilter = ["disabled"]
  new MutationObserver(look).observe(document.body, {
    childList: true,
    subtree: true,
    attributeFilter,
  })
  return (element) => {
    // What has the focus now belongs to the page before, or was nearest when that page went.
    const { activeElement: last } = document
    if (last instanceof HTMLElement) last.blur()
    path = [element, ...ancestorsOf(element)]
    element.focus({ preventScroll: true })
  }
}

function ancestorsOf({ parentElement }: Element): readonly Element[] {
  return parentElement ? [parentElement, ...ancestorsOf(parentElement)] : []
}

/** What has come in its place: the page itself, once it is there. */
const sameAs = ({ id }: Element): Element | null => (id ? document.getElementById(id) : null)

function nearestIn(around: readonly Element[]): Element | undefined {
  const left = around.filter((element) => element.isConnected)
  for (const element of left) {
    const found = [...element.querySelectorAll(controls)].find((each) => each.checkVisibility())
    if (found) return found
  }
  return undefined
}
