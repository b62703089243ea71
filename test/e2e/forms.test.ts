// Every form of the console that changes something, while another administrator changes it, too.
import type { Browser, Locator, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { formCases } from "../support/console-form/all.ts"
import { type Beside, type Filling, type FormCase, fill } from "../support/console-form/case.ts"
import { more } from "../support/console-form/thing.ts"
import { filled, furnished, signedInAt, type Things } from "../support/console-place.ts"
import { needs } from "../support/prerequisite.ts"
import { goWithin } from "../support/press.ts"

describe.runIf(needs("chromium"))("a form that two administrators have open", () => {
  let service: Service
  let browser: Browser
  let page: Page
  let things: Things
  let beside: Beside

  beforeAll(async () => {
    service = await openService()
    things = await more({ get: service.get, things: await furnished(service) })
    beside = { get: service.get, things }
    browser = await openBrowser()
    const context = await browser.newContext({ locale: "en" })
    page = await signedInAt(context, `${service.url}/ui/console/projects`)
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  /** What was opened can be canceled; the other forms of a page are always there. */
  const form = (): Locator => {
    const cancel = page.getByRole("button", { name: "Cancel" })
    const code = page.locator('[name="script"]')
    return page.locator("form.form").filter({ has: cancel.or(code) })
  }

  /** Whether nothing was changed since the last form was saved, which reads everything anew. */
  let isCurrent = false

  async function begin({ path, open }: FormCase, filling: Filling): Promise<void> {
    await page.evaluate(`for (const key of Object.keys(sessionStorage))
      if (key.startsWith("latchkey.draft")) sessionStorage.removeItem(key)`)
    const place = filled(path, things)
    if (isCurrent) await goWithin(page, place)
    else await page.goto(service.url + place)
    isCurrent = false
    await open(page)
    await fill(form(), filling)
  }

  const save = () => form().locator('button[type="submit"]').click()

  /** A form that stays where it is has nothing left to save. */
  const saved = async () => {
    const stays = page.locator('form.form:has([name="script"])')
    const unsaved = page.locator('button[type="submit"]:not(:disabled)')
    if ((await stays.count()) > 0)
      await stays.filter({ has: unsaved }).waitFor({ state: "detached" })
    else await form().waitFor({ state: "detached" })
  }

  /** Whoever saves these vouches for all of it, and is shown first what the other has changed. */
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

  const named = (one: FormCase) => [[one.form, one.of].join(" ").trim(), one] as const
  const apart = formCases.filter(({ theirs }) => theirs).map(named)
  test.each(apart)("%s saves the changes of both", async (_, one) => {
    await begin(one, one.mine ?? {})
    await one.theirs?.(beside)
    await save()
    if (authored.test(one.form)) await takeTheirs()
    await saved()
    await expect.poll(() => one.read(beside)).toMatchObject(Object(one.both))
    await one.takeBack?.(beside)
    isCurrent = one.takeBack === undefined
  })

  const together = formCases.filter(({ same }) => same).map(named)
  test.each(together)("%s asks which value of the same field to keep", async (_, one) => {
    const { theirs, mine, before, after } = one.same ?? { mine: {} }
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
