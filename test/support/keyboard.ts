// Tests a page with the keyboard alone.
import type { Page } from "playwright-core"

/**
 * Presses Tab through a page; returns the controls that it does not reach, and those without a
 * visible focus.
 */
export async function findUnreachable(page: Page): Promise<readonly string[]> {
  const count: number = await page.evaluate(watchFocus)
  if ((await page.locator(".code").count()) === 0) await pressTab(page, count + 2)
  else {
    for (let pressed = 0; pressed < count + 2; pressed += 1) {
      // In the code editor, Tab indents; its hint explains how to leave it.
      if (await page.evaluate(`!!document.activeElement.closest(".code")`))
        await page.keyboard.press("Escape")
      await page.keyboard.press("Tab")
    }
  }
  // Controls that were replaced meanwhile need not be reached.
  return page.evaluate(`[...window.offered].filter((one) => one.isConnected)
    .map((one) => "not reached: " + one.outerHTML.slice(0, 100))
    .concat(window.unseen.map((one) => "not seen: " + one))`)
}

/** Presses keys without waiting for the page, as an experienced user does. */
async function pressTab(page: Page, times: number): Promise<void> {
  const keys = await page.context().newCDPSession(page)
  const tab = { key: "Tab", code: "Tab", windowsVirtualKeyCode: 9 }
  const press = () => [
    keys.send("Input.dispatchKeyEvent", { type: "rawKeyDown", ...tab }),
    keys.send("Input.dispatchKeyEvent", { type: "keyUp", ...tab }),
  ]
  await Promise.all(Array.from({ length: times }, press).flat())
  await keys.detach()
}

/**
 * In the page: the focusable controls without those that got the focus; and those whose focus is
 * invisible.
 */
const watchFocus = `(() => {
  const offered = "a[href], button, input, select, textarea, summary"
  const isOne = (each) => each.checkVisibility() && !each.matches(":disabled, [type=hidden]") &&
    !each.closest("[inert]") && each.tabIndex >= 0
  window.offered = new Set([...document.querySelectorAll(offered)].filter(isOne))
  // What a page has given the focus to by itself is reached.
  window.offered.delete(document.activeElement)
  window.unseen = []
  document.addEventListener("focusin", ({ target: at }) => {
    window.offered.delete(at)
    // Of radio buttons the keyboard comes to one, and goes on among them by arrows.
    if (at.type === "radio")
      for (const each of window.offered) if (each.name === at.name) window.offered.delete(each)
    const { width, height, bottom, top } = at.getBoundingClientRect()
    const isSeen = width > 0 && height > 0 && bottom > 0 && top < innerHeight
    if (!isSeen) window.unseen.push(at.outerHTML.slice(0, 100))
  })
  // Of a date, month, day, year and the calendar have the focus one after the other.
  const dates = [...window.offered].filter((each) => each.type === "date")
  return window.offered.size + 3 * dates.length
})()`

/** In the page: whether the focus is not below content that the user has not read yet. */
export const beginsAtTop = `(() => {
  const { activeElement: at } = document
  const fields = "main :is(input:not([type=radio], [type=checkbox]), select, textarea)"
  return at === document.body || at.id === "content" || at === document.querySelector(fields)
})()`
