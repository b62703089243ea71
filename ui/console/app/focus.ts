const controls = [
  ...["a[href]", "button:not(:disabled)", "input:not(:disabled, [type=hidden])", "summary"],
  ...["select:not(:disabled)", "textarea:not(:disabled)", "[tabindex='0']"],
].join()

/**
 * Whoever works by keyboard goes on where they were. What has the focus may go: a row that is
 * removed, a button in whose place another one comes, a page that was on its way. Then the focus
 * goes to what is nearest to where it was, and never back to the beginning.
 */
export function keepFocus(): void {
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
    const next = last.isConnected ? last : (sameAs(last) ?? nearestIn(around))
    if (next instanceof HTMLElement) next.focus()
  }
  // What is busy is disabled for a moment, and gets the focus back.
  const attributeFilter = ["disabled"]
  new MutationObserver(look).observe(document.body, {
    ...{ childList: true, subtree: true, attributeFilter },
  })
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
