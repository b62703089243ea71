// Every form of the console that changes something, while another administrator changes it, too.
import type { Browser, Locator, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { applicationForms } from "../support/console-form/application.ts"
import { type Beside, type Filling, type FormCase, fill } from "../support/console-form/case.ts"
import { filled, furnished, signedInAt, type Things } from "../support/console-place.ts"
import { needs } from "../support/prerequisite.ts"

const cases: readonly FormCase[] = [...applicationForms]

describe.runIf(needs("chromium"))("a form that two administrators have open", () => {
  let service: Service
  let browser: Browser
  let page: Page
  let things: Things
  let beside: Beside

  beforeAll(async () => {
    service = await openService()
    things = await furnished(service)
    beside = { get: service.get, things }
    browser = await openBrowser()
    const context = await browser.newContext({ locale: "en" })
    page = await signedInAt(context, `${service.url}/ui/console/projects`)
    page.setDefaultTimeout(10_000)
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  /** What was opened can be canceled; the other forms of a page are always there. */
  const form = (): Locator =>
    page.locator("form.form").filter({ has: page.getByRole("button", { name: "Cancel" }) })

  async function begin({ path, open }: FormCase, filling: Filling): Promise<void> {
    await page.goto(service.url + filled(path, things))
    await open(page)
    await fill(form(), filling)
  }

  const save = () => form().locator('button[type="submit"]').click()

  const saved = () => form().waitFor({ state: "detached" })

  const apart = cases.filter(({ theirs }) => theirs)
  test.each(apart)("$form saves the changes of both", async (one) => {
    await begin(one, one.mine ?? {})
    await one.theirs?.(beside)
    await save()
    await saved()
    expect(await one.read(beside)).toMatchObject(Object(one.both))
  })

  const together = cases.filter(({ same }) => same)
  test.each(together)("$form asks which value of the same field to keep", async (one) => {
    const { theirs, mine, before, after } = one.same ?? { mine: {} }
    await begin(one, mine)
    await theirs?.(beside)
    await save()
    const conflict = form().locator(".conflict")
    await conflict.getByText(/^Changed by .* (now|ago)$/).waitFor()
    expect(await conflict.count()).toBe(1)
    expect(await one.read(beside)).toMatchObject(Object(before))
    await conflict.getByRole("button", { name: /^Keep mine/ }).click()
    await saved()
    expect(await one.read(beside)).toMatchObject(Object(after))
  })
})
