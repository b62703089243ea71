// Playwright polls for an element after 20, 50, 100 and 100 ms, and then every half second: an
// element that appears slightly later costs half a second, hundreds of times. This polls every 20
// ms first; then Playwright's own call decides.
import type { Frame, Locator, Page } from "playwright-core"
import { until } from "./wait.ts"

type WaitOptions = {
  readonly state?: "attached" | "detached" | "visible" | "hidden"
  readonly timeout?: number
}

/** After this time, only Playwright's own polling continues. */
const limitMs = 10_000

/** Resolves when an element is in the requested state, or after the limit. */
async function waitFor(
  of: Locator,
  { state = "visible", timeout = limitMs }: WaitOptions = {},
): Promise<void> {
  const end = performance.now() + Math.min(timeout, limitMs)
  const first = of.first()
  // A page that navigates meanwhile has no result, so it is polled again.
  const count = () => of.count().catch(() => undefined)
  const states: Readonly<Record<typeof state, () => Promise<boolean>>> = {
    visible: () => first.isVisible(),
    hidden: () => first.isHidden(),
    attached: async () => Number(await count()) > 0,
    detached: async () => (await count()) === 0,
  }
  await until(async () => performance.now() > end || (await states[state]()))
}

/** The methods that require a visible element, and those that require an attached one. */
const states = {
  visible: ["click", "dblclick", "fill", "press", "hover"],
  attached: [
    "check",
    "uncheck",
    "setChecked",
    "selectOption",
    "setInputFiles",
    "focus",
    "innerText",
    "textContent",
    "inputValue",
    "getAttribute",
    "isChecked",
    "isDisabled",
    "isEnabled",
  ],
} as const

let isDone = false

/** Enables fast polling for every page of this thread. */
export function useFastLocators(page: Page): void {
  if (isDone) return
  isDone = true
  const frames = Object.getPrototypeOf(page.mainFrame())
  for (const state of ["visible", "attached"] as const) {
    for (const name of states[state]) {
      runBefore(frames, name, (frame: Frame, selector: string) =>
        waitFor(frame.locator(selector), { state }),
      )
    }
  }
  runBefore(frames, "waitForSelector", (frame: Frame, selector: string, options?: WaitOptions) =>
    waitFor(frame.locator(selector), options),
  )
  const locators = Object.getPrototypeOf(page.locator("html"))
  runBefore(locators, "waitFor", waitFor)
  runBefore(locators, "evaluate", (locator: Locator) => waitFor(locator, { state: "attached" }))
}

/** Runs `first` before a method. */
function runBefore(
  of: any,
  name: string,
  first: (self: any, ...args: any[]) => Promise<void>,
): void {
  const own = of[name]
  if (typeof own !== "function") throw new Error(`playwright has no ${name}`)
  of[name] = async function (...args: readonly unknown[]) {
    await first(this, ...args)
    return own.apply(this, args)
  }
}
