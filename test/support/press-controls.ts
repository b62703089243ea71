// Presses the controls of a console page, and holds back the changes that they would make.
import type { Page } from "playwright-core"
import { waitUntilIdle } from "./browser.ts"
import { until } from "./wait.ts"

/** A call that a page attempted, and the control that caused it. */
export type HeldRequest = {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly control: string
}

/**
 * Blocks all changing requests of a new page; reads pass. Returns the blocked requests. It runs in
 * the page: a Playwright route would inspect every request, and disable the cache.
 */
export async function holdChanges(page: Page, now: () => string): Promise<readonly HeldRequest[]> {
  const held: HeldRequest[] = []
  const note = (
    _: unknown,
    { body, ...call }: Omit<HeldRequest, "control" | "body"> & { body: string },
  ) => {
    held.push({ ...call, body: Buffer.from(body, "base64"), control: now() })
  }
  await page.exposeBinding("noteHeld", note)
  await page.addInitScript(holdScript)
  return held
}

/** In the page, before its own scripts. */
const holdScript = `{
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

/** Waits until a page has loaded: nothing is pending, and nothing is held open. */
export async function waitUntilSettled(page: Page): Promise<void> {
  // Menu items that are not links yet.
  await page.locator(".sidebar span.nav-link").first().waitFor({ state: "detached" })
  await page.locator("main .skeleton").first().waitFor({ state: "detached" })
  await waitUntilIdle(page)
  await page.locator("main .skeleton").first().waitFor({ state: "detached" })
}

/** Navigates within the console like a link, without a reload. */
export async function navigateTo(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState({}, "", "${path}")`)
  // The previous page stays until the next one has loaded, including its complaints.
  const [pathname = ""] = path.split("?")
  await until(() => page.evaluate(`(${isRenderedScript})("${pathname}")`), {
    what: () => `${path} to be shown`,
    limitMs: 60_000,
  })
  await page.locator("main.content:not([aria-busy]) h1").waitFor()
  await waitUntilSettled(page)
}

/** In the page: whether the console's router has rendered a path. */
const isRenderedScript = `(pathname) => {
  const { status, resolvedLocation } = self.__TSR_ROUTER__.state
  return status === "idle" && resolvedLocation?.publicHref.split("?")[0] === pathname
}`

/** Presses the n-th control of the page and what it opens; returns the control's name. */
export const pressNth = (page: Page, at: number): Promise<string | null> =>
  page.evaluate(`(${pressControl.toString()})(${at})`)

/** Runs in the page: opens a form, fills in required fields, submits it, and closes it. */
async function pressControl(at: number): Promise<string | null> {
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
