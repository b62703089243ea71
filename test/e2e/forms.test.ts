// Every form of the console while another administrator changes the same data.
import type { Browser, Locator, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { formCases } from "../support/console-form/all.ts"
import {
  type FormCase,
  type FormContext,
  type FormValues,
  fill,
} from "../support/console-form/case.ts"
import { createMoreResources } from "../support/console-form/resource.ts"
import {
  createConsoleResources,
  fillVariables,
  openSignedIn,
  type ResourceIds,
} from "../support/console-pages.ts"
import { needs } from "../support/prerequisite.ts"
import { navigateTo } from "../support/press-controls.ts"

describe.runIf(needs("chromium"))("a form that two administrators have open", () => {
  let service: Service
  let browser: Browser
  let page: Page
  let things: ResourceIds
  let beside: FormContext

  beforeAll(async () => {
    service = await openService()
    things = await createMoreResources({
      get: service.get,
      resources: await createConsoleResources(service),
    })
    beside = { get: service.get, resources: things }
    browser = await openBrowser()
    const context = await browser.newContext({ locale: "en" })
    page = await openSignedIn(context, `${service.url}/ui/console/projects`)
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  /** An opened form has Cancel; the other forms of a page are always visible. */
  const form = (): Locator => {
    const cancel = page.getByRole("button", { name: "Cancel" })
    const code = page.locator('[name="script"]')
    return page.locator("form.form").filter({ has: cancel.or(code) })
  }

  /** Whether nothing has changed since the last save, which reloads everything. */
  let isCurrent = false

  async function begin({ path, open }: FormCase, filling: FormValues): Promise<void> {
    await page.evaluate(`for (const key of Object.keys(sessionStorage))
      if (key.startsWith("latchkey.draft")) sessionStorage.removeItem(key)`)
    const place = fillVariables(path, things)
    if (isCurrent) await navigateTo(page, place)
    else await page.goto(service.url + place)
    isCurrent = false
    await open(page)
    await fill(form(), filling)
  }

  const save = () => form().locator('button[type="submit"]').click()

  /** A form that stays open has nothing left to save. */
  const saved = async () => {
    const stays = page.locator('form.form:has([name="script"])')
    const unsaved = page.locator('button[type="submit"]:not(:disabled)')
    if ((await stays.count()) > 0)
      await stays.filter({ has: unsaved }).waitFor({ state: "detached" })
    else await form().waitFor({ state: "detached" })
  }

  /**
   * These forms save all of their values, and first show what the other administrator has changed.
   */
  const authored = /^(idp\/idp-form|policy\/|script\/script-page|target\/target\.ts|text\/)/

  const takeTheirs = async () => {
    const conflict = form().locator(".conflict")
    await conflict.first().waitFor()
    for (let left = await conflict.count(); left > 0; left--) {
      await conflict
        .first()
        .getByRole("button", { name: /^Take theirs/ })
        .click()
    }
  }

  const named = (one: FormCase) => [[one.form, one.variant].join(" ").trim(), one] as const
  const apart = formCases.filter(({ otherChange: theirs }) => theirs).map(named)
  test.each(apart)("%s saves the changes of both", async (_, one) => {
    await begin(one, one.ownChange ?? {})
    await one.otherChange?.(beside)
    await save()
    if (authored.test(one.form)) await takeTheirs()
    await saved()
    await expect.poll(() => one.read(beside)).toMatchObject(Object(one.both))
    await one.revert?.(beside)
    isCurrent = one.revert === undefined
  })

  const together = formCases.filter(({ same }) => same).map(named)
  test.each(together)("%s asks which value of the same field to keep", async (_, one) => {
    const { otherChange: theirs, ownChange: mine, before, after } = one.same ?? { ownChange: {} }
    await begin(one, mine)
    await theirs?.(beside)
    await save()
    const conflict = form().locator(".conflict")
    await conflict.getByText(/^Changed by /).waitFor()
    expect(await conflict.count()).toBe(1)
    expect(await one.read(beside)).toMatchObject(Object(before))
    await conflict.getByRole("button", { name: /^Keep mine/ }).click()
    await saved()
    await expect.poll(() => one.read(beside)).toMatchObject(Object(after))
    isCurrent = true
  })
})
