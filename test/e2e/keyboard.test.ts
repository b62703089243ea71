// The console with the keyboard alone: every control is reachable, and the focus is never lost.
import type { Browser, ElementHandle, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import {
  consoleRoutes,
  createConsoleResources,
  fillVariables,
  openSignedIn,
  type ResourceIds,
} from "../support/console-pages.ts"
import { beginsAtTop, findUnreachable } from "../support/keyboard.ts"
import { needs } from "../support/prerequisite.ts"
import {
  type HeldRequest,
  holdChanges,
  navigateTo,
  waitUntilSettled,
} from "../support/press-controls.ts"

describe.runIf(needs("chromium"))("a keyboard user", () => {
  let service: Service
  let browser: Browser
  let page: Page
  let things: ResourceIds

  beforeAll(async () => {
    service = await openService()
    things = await createConsoleResources(service)
    browser = await openBrowser()
    const context = await browser.newContext({ locale: "en", reducedMotion: "reduce" })
    page = await openSignedIn(context, `${service.url}/ui/console/projects`)
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  async function open(path: string): Promise<void> {
    await page.goto(service.url + fillVariables(path, things))
    await page.locator("main.content:not([aria-busy]) h1").waitFor()
    // The last menu items appear after the permissions load.
    await page
      .locator(".sidebar .nav-link")
      .filter({ hasText: /^(Settings|Console)$/ })
      .waitFor()
    await waitUntilSettled(page)
  }

  const section = (title: string) =>
    page.locator("section.section", { has: page.getByRole("heading", { name: title, level: 2 }) })

  /** The name of the focused element; undefined if nothing has the focus. */
  const focused = (): Promise<string | undefined> => page.evaluate(nameOfFocused)
  const nameOfFocused = `(() => {
    const { activeElement: at } = document
    if (!at || at === document.body) return undefined
    return at.localName + " " + (at.ariaLabel || at.name || at.textContent).trim().slice(0, 60)
  })()`

  test("can skip to the content first", async () => {
    await open("/ui/console/groups")
    await page.keyboard.press("Tab")
    expect(await focused()).toBe("a Skip to content")
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    expect(await isIn("main")).toBe(true)
  })

  test("starts at the content of a page opened by a link", async () => {
    await page.locator(".sidebar").getByRole("link", { name: "Users" }).focus()
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Users", level: 1 }).waitFor()
    await waitUntilSettled(page)
    expect(await page.evaluate("document.activeElement.id")).toBe("content")
  })

  const dialog = () => page.locator("dialog[open]")
  const isIn = (selector: string) =>
    page.evaluate(`!!document.activeElement.closest("${selector}")`)

  /** Closes what a button opened, both ways; returns how the focus was lost, if it was. */
  async function leftBy(
    button: ElementHandle,
    method: "Escape" | "Cancel",
  ): Promise<string | undefined> {
    await button.focus()
    const before = await focused()
    await page.keyboard.press("Enter")
    if ((await dialog().count()) > 0) return leftQuestion(before, method)
    // The action takes a moment; then the focus is back, or in what opened.
    await waitUntilSettled(page)
    const isKept = await expect
      .poll(focused)
      .toBeDefined()
      .then(
        () => true,
        () => false,
      )
    if (!isKept) return `${before} loses it`
    const cancel = page.locator("main.content").getByRole("button", { name: "Cancel" })
    if ((await cancel.count()) > 0) await cancel.first().press("Enter")
    return (await focused()) === undefined ? `${before} loses it at the end` : undefined
  }

  async function leftQuestion(
    before: string | undefined,
    method: string,
  ): Promise<string | undefined> {
    if (!(await isIn("dialog"))) return `${before} opens a question without it`
    const cancel = dialog().getByRole("button", { name: /^(Cancel|Close)$/ })
    if (method === "Cancel" && (await cancel.count()) > 0) await cancel.first().press("Enter")
    else await page.keyboard.press("Escape")
    await expect.poll(() => dialog().count()).toBe(0)
    const after = await focused()
    return after === before ? undefined : `${before} ends at ${after}`
  }

  describe("on each page", () => {
    let held: readonly HeldRequest[] = []
    beforeAll(async () => {
      const changing = page
      page = await page.context().newPage()
      page.setDefaultTimeout(60_000)
      held = await holdChanges(page, () => "")
      return async () => {
        await page.close()
        page = changing
      }
    })

    test.each(consoleRoutes)(
      "reaches everything on %s, and each dialog gets and returns the focus",
      async (path) => {
        const before = held.length
        if (page.url() === "about:blank") await open(path)
        else await navigateTo(page, fillVariables(path, things))
        expect(await page.evaluate(beginsAtTop)).toBe(true)
        expect(await findUnreachable(page)).toEqual([])
        const buttons = page.locator("main.content button:not([aria-disabled=true])")
        const lost: string[] = []
        for (let at = 0; ; at += 1) {
          // The previous press may still be closing or changing something.
          await waitUntilSettled(page)
          const button = (await buttons.elementHandles())[at]
          if (!button) break
          if (!(await button.isVisible()) || (await button.isDisabled())) continue
          lost.push((await leftBy(button, at % 2 ? "Cancel" : "Escape")) ?? "")
        }
        expect(lost.filter(Boolean)).toEqual([])
        // Destructive actions ask for confirmation first: the operation was not called.
        const takes = /^(Delete|Remove|Deactivate|Lock|Revoke|Terminate|Reset|Clear)/
        const called = held.slice(before).map(({ method }) => method)
        expect(called.filter((method) => takes.test(method))).toEqual([])
      },
    )
  })

  test("is next to a removed item, also if it was the last", async () => {
    await open("/ui/console/groups/$groupId")
    const remove = section("Members").getByRole("button", { name: /^Remove/ })
    await remove.press("Enter")
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).press("Enter")
    await expect.poll(() => remove.count()).toBe(0)
    expect(await focused()).toMatch(/^button/)
    expect(await isIn("section.section")).toBe(true)
  })

  test("is on the replacement of an item that was disabled, and enabled again", async () => {
    await open("/ui/console/users/$userId")
    await page.getByRole("button", { name: /^Deactivate/ }).press("Enter")
    await page.getByRole("dialog").getByRole("button", { name: "Deactivate" }).press("Enter")
    await page.getByText("is deactivated").waitFor()
    expect(await focused()).toBe("button Activate")
    await page.keyboard.press("Enter")
    await page.getByRole("button", { name: /^Deactivate/ }).waitFor()
    expect(await focused()).toMatch(/^button (Lock|Deactivate)/)
  })

  test("is on the button that opened a form after saving", async () => {
    await open("/ui/console/projects/$projectId")
    const rename = page.getByRole("button", { name: /^Rename/ })
    await rename.press("Enter")
    await page.getByLabel("Name", { exact: true }).fill("Extranet")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Extranet", level: 1 }).waitFor()
    await rename.waitFor()
    expect(await focused()).toMatch(/^button Rename/)
  })

  test("pages through a list to its end without leaving the button", async () => {
    for (let index = 0; index < 55; index += 1) {
      const name = `Group ${String(index).padStart(2, "0")}`
      await service.get("CreateGroup", { organizationId: things.organizationId, name })
    }
    await open("/ui/console/groups")
    await page.getByRole("button", { name: "Next" }).press("Enter")
    await page.getByText("51–56 of 56").waitFor()
    expect(await focused()).toBe("button Next")
    await page.keyboard.press("Enter")
    await page.getByText("51–56 of 56").waitFor()
  })
})
