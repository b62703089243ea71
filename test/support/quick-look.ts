// Playwright looks for an element after 20, 50, 100 and 100 ms, and from then on each half second:
// what comes a moment later than it hoped costs that half second, hundreds of times. Here it is
// looked for each 20 ms before; then comes Playwright's own call, which alone decides.
import type { Frame, Locator, Page } from "playwright-core"
import { until } from "./wait.ts"

type WaitOptions = {
  readonly state?: "attached" | "detached" | "visible" | "hidden"
  readonly timeout?: number
}

/** From then on Playwright's pace does. */
const limitMs = 10_000

/** Comes back when an element is as it is wanted, or when that takes long. */
async function looked(
  of: Locator,
  { state = "visible", timeout = limitMs }: WaitOptions = {},
): Promise<void> {
  const end = performance.now() + Math.min(timeout, limitMs)
  const first = of.first()
  // A page that is left meanwhile has no answer: it is asked again.
  const count = () => of.count().catch(() => undefined)
  const states: Readonly<Record<typeof state, () => Promise<boolean>>> = {
    visible: () => first.isVisible(),
    hidden: () => first.isHidden(),
    attached: async () => Number(await count()) > 0,
    detached: async () => (await count()) === 0,
  }
  await until(async () => performance.now() > end || (await states[state]()))
}

/** What is done only to what is to be seen, and what is done to all that is there. */
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

/** Lets every page of this thread look quickly. */
export function lookQuickly(page: Page): void {
  if (isDone) return
  isDone = true
  const frames = Object.getPrototypeOf(page.mainFrame())
  for (const state of ["visible", "attached"] as const) {
    for (const name of states[state]) {
      before(frames, name, (frame: Frame, selector: string) =>
        looked(frame.locator(selector), { state }),
      )
    }
  }
  before(frames, "waitForSelector", (frame: Frame, selector: string, wanted?: WaitOptions) =>
    looked(frame.locator(selector), wanted),
  )
  const locators = Object.getPrototypeOf(page.locator("html"))
  before(locators, "waitFor", looked)
  before(locators, "evaluate", (locator: Locator) => looked(locator, { state: "attached" }))
}

/** Puts something before a method. */
function before(of: any, name: string, first: (self: any, ...args: any[]) => Promise<void>): void {
  const own = of[name]
  if (typeof own !== "function") throw new Error(`playwright has no ${name}`)
  of[name] = async function (...args: readonly unknown[]) {
    await first(this, ...args)
    return own.apply(this, args)
  }
}
