// Presses whatever a page of the console offers, and holds back what that would change.
import type { Page } from "playwright-core"
import { atRest } from "./browser.ts"
import { until } from "./wait.ts"

/** A call that a page wanted to make, and for which control. */
export type Held = {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly by: string
}

/**
 * Lets a page that is new get no further with what changes something; readings go through. Answers
 * what has been held back since. It is done in the page: with a route of Playwright's, each request
 * would be looked at here, and no file would come from the cache.
 */
export async function holdBack(page: Page, now: () => string): Promise<readonly Held[]> {
  const held: Held[] = []
  const note = (_: unknown, { body, ...call }: Omit<Held, "by" | "body"> & { body: string }) => {
    held.push({ ...call, body: Buffer.from(body, "base64"), by: now() })
  }
  await page.exposeBinding("noteHeld", note)
  await page.addInitScript(holdChanges)
  return held
}

/** In the page, before its own scripts. */
const holdChanges = `{
  const send = window.fetch
  window.fetch = async (...given) => {
    const request = new Request(...given)
    const { url } = request
    const [, method] = /\\/core\\.[\\w.]+\\/(\\w+)$/.exec(new URL(url).pathname) ?? []
    if (method === undefined || /^(Get|List)/.test(method)) return send(...given)
    const headers = Object.fromEntries(request.headers)
    const bytes = new Uint8Array(await request.arrayBuffer())
    const body = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))
    void window.noteHeld({ method, url, headers, body })
    return Response.json({ code: "aborted", message: "held back" }, { status: 409 })
  }
}`

/** Waits until a page has what it asked for: nothing is on its way, and nothing held open. */
export async function settled(page: Page): Promise<void> {
  // Places that can't be followed yet.
  await page.locator(".sidebar span.nav-link").first().waitFor({ state: "detached" })
  await page.locator("main .skeleton").first().waitFor({ state: "detached" })
  await atRest(page)
  await page.locator("main .skeleton").first().waitFor({ state: "detached" })
}

/** Goes to a page of the console as a link does: nothing is loaded anew. */
export async function goWithin(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState({}, "", "${path}")`)
  // The page before stays until the next one has come, and so does what it complains about.
  const [pathname = ""] = path.split("?")
  await until(() => page.evaluate(`(${isShown})("${pathname}")`), {
    what: () => `${path} to be shown`,
    limitMs: 60_000,
  })
  await page.locator("main.content:not([aria-busy]) h1").waitFor()
  await settled(page)
}

/** In the page: whether the router of the console has drawn what is at a path. */
const isShown = `(pathname) => {
  const { status, resolvedLocation } = self.__TSR_ROUTER__.state
  return status === "idle" && resolvedLocation?.publicHref.split("?")[0] === pathname
}`

/** Says what the n-th control of the page is called, after pressing it and what it opens. */
export const pressNth = (page: Page, at: number): Promise<string | null> =>
  page.evaluate(`(${press.toString()})(${at})`)

/** Runs in the page: opens a form, fills what it wants, sends it, and closes it again. */
async function press(at: number): Promise<string | null> {
  // timer: this runs inside the page, which signals nothing when a press changes nothing
  const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
  const all = <E extends Element>(within: ParentNode, selector: string) => [
    ...within.querySelectorAll<E & HTMLElement>(selector),
  ]
  const isOffered = (element: HTMLElement) =>
    element.checkVisibility() && !element.matches(":disabled") && !element.closest("[inert]")
  const isPassing = (element: HTMLElement) =>
    element.closest("th, .list-tools, .list-foot, .chips, .field, .copy, form, search") !== null
  const main = document.querySelector("main.content") ?? document.body
  const controls = all(main, "button, .checks > .check > input, select").filter(
    (element) => isOffered(element) && !isPassing(element),
  )
  const control = controls[at]
  if (!control) return null
  const name = control.ariaLabel ?? control.closest("label")?.textContent ?? control.textContent
  control.click()
  await rest(40)
  const opened = () =>
    document.querySelector("dialog[open]") ?? main.querySelector("form:not(search form)")
  const write = (input: HTMLInputElement, value: string) => {
    const { set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value") ?? {}
    set?.call(input, value)
    input.dispatchEvent(new Event("input", { bubbles: true }))
  }
  const samples: Readonly<Record<string, string>> = {
    email: "ada@example.com",
    url: "https://example.com",
    number: "5",
    date: "2040-01-01",
    tel: "+41791234567",
  }
  const place = opened()
  if (place) {
    const title = document.querySelector("h1")?.textContent ?? ""
    const isDeletion = place.querySelector("form .button-danger") !== null
    for (const input of all<HTMLInputElement>(place, "input[required], form input[name=typed]")) {
      if (input.value === "") write(input, isDeletion ? title : (samples[input.type] ?? "walk-1"))
    }
    await rest(20)
    const buttons = all<HTMLButtonElement>(place, "form button[type=submit], .form-actions button")
    buttons.find(isOffered)?.click()
    await rest(50)
  }
  for (let tries = 0; opened() && tries < 5; tries += 1) {
    const buttons = all<HTMLButtonElement>(opened() ?? main, ".form-actions button")
    buttons.findLast(isOffered)?.click()
    await rest(30)
  }
  return name ?? ""
}
