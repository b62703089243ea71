import { contentId } from "../shell/frame.tsx"

const focusableSelector = [
  "a[href]",
  "button:not(:disabled)",
  "input:not(:disabled, [type=hidden])",
  "summary",
  "select:not(:disabled)",
  "textarea:not(:disabled)",
  "[tabindex='0']",
].join()

/**
 * Keeps the keyboard focus near its position. The focused element can disappear when a row is
 * removed, a button is replaced or a page changes. The focus then moves to the nearest element,
 * never to the start of the page.
 * Returns a function that moves the focus to an element, immediately or once it becomes visible.
 */
export function trackFocus(): (element: HTMLElement) => void {
  /** The focused element and its ancestors. */
  let path: readonly Element[] = []
  document.addEventListener("focusin", ({ target }) => {
    path = target instanceof Element ? [target, ...ancestorsOf(target)] : []
  })
  // Clicking outside any control clears the focus intentionally.
  const forget = () => {
    path = []
  }
  document.addEventListener("pointerdown", forget, { capture: true })
  const look = () => {
    const [last, ...around] = path
    // Past the last control of the page, the focus is in the browser UI.
    if (!last || document.activeElement !== document.body || !document.hasFocus()) return
    // While a page loads its content may be missing, so wait for it.
    const nearest = () => (last.id === contentId ? undefined : nearestIn(around))
    const next = last.isConnected ? last : (findSuccessor(last) ?? nearest())
    if (next instanceof HTMLElement) next.focus({ preventScroll: next.id === contentId })
  }
  // Busy controls are disabled briefly and get the focus back.
  const attributeFilter = ["disabled"]
  new MutationObserver(look).observe(document.body, {
    childList: true,
    subtree: true,
    attributeFilter,
  })
  return (element) => {
    // The focused element belongs to the previous page, or was the nearest one when that page was
    // removed.
    const { activeElement: last } = document
    if (last instanceof HTMLElement) last.blur()
    path = [element, ...ancestorsOf(element)]
    element.focus({ preventScroll: true })
  }
}

function ancestorsOf({ parentElement }: Element): readonly Element[] {
  return parentElement ? [parentElement, ...ancestorsOf(parentElement)] : []
}

/** The replacement element with the same ID. */
const findSuccessor = ({ id }: Element): Element | null => (id ? document.getElementById(id) : null)

function nearestIn(around: readonly Element[]): Element | undefined {
  const left = around.filter((element) => element.isConnected)
  for (const element of left) {
    const found = [...element.querySelectorAll(focusableSelector)].find((each) =>
      each.checkVisibility(),
    )
    if (found) return found
  }
  return undefined
}
