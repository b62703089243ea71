import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { createCode } from "../../src/domain/credential/code.ts"
import { requestReset } from "../../src/domain/credential/reset.ts"
import { sentCode } from "../../src/domain/credential/sent-code.ts"
import type { ContactKind } from "../../src/domain/lockout/code-count.ts"
import { requestCode } from "../../src/domain/user/contact.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { lockUser } from "../../src/domain/user/index.ts"
import { user } from "../../src/domain/user-model/model.ts"
import { browserOf, openProvider, type Provider } from "../oauth/provider.ts"

const page = "/ui/login/verify"

let provider: Provider
beforeAll(async () => {
  provider = await openProvider()
})
afterAll(() => provider.close())

let userCount = 0
let id: string
beforeEach(async () => {
  id = `p${++userCount}`
  await createUser(provider.cx(), id, {
    kind: "human",
    orgId: provider.setup.orgId,
    userName: id,
    profile: { givenName: "Nina", familyName: "Novak" },
    email: { value: `${id}@example.org`, verified: false },
    phone: { value: "+41791234567", verified: false },
  })
})

async function sendCode(of: ContactKind): Promise<string> {
  const code = createCode(provider.cx(), id, { of, returned: false })
  await requestCode(provider.cx(), id, { of, code })
  return code.plain
}

function isVerified(of: ContactKind): boolean {
  const state = provider.store.state(provider.cx(), user, id)
  if (!("kind" in state) || state.kind !== "human") return false
  return of === "email" ? state.email.verified : state.phone?.verified === true
}

describe.each([
  ["email", "", "Email address verified"],
  ["phone", "&phone=true", "Phone number verified"],
] as const)("the link that verifies the %s", (of, more, words) => {
  const link = (userId = id) => `${page}?userId=${userId}&organization=org1${more}`

  test("changes nothing when it is opened, and accepts its code once", async () => {
    const code = await sendCode(of)
    const before = provider.store.log.writes()
    const browser = browserOf(provider)
    const first = await browser.go(link())
    expect(first.page).not.toContain("Nina")
    expect(provider.store.log.writes()).toBe(before)
    const done = await browser.post(first, { code: code.toLowerCase().replace(/^.../, "$&-") })
    expect(done.path).toBe(`/ui/login/verified?of=${of}`)
    expect(done.page).toContain(words)
    expect(isVerified(of)).toBe(true)
    expect(isVerified(of === "email" ? "phone" : "email")).toBe(false)
    const again = await browser.post(first, { code })
    expect(again.response.status).toBe(422)
    expect(again.page).toContain("already verified, you&#x27;re done")
  })

  test("can contain the code", async () => {
    const browser = browserOf(provider)
    const first = await browser.go(`${link()}&code=${await sendCode(of)}`)
    expect((await browser.post(first, {})).page).toContain(words)
  })

  test("stays valid by its own key after ten wrong codes were typed", async () => {
    const code = await sendCode(of)
    const browser = browserOf(provider)
    const typed = await browser.go(link())
    for (let count = 0; count < 10; count++) await browser.post(typed, { code: "AAAAAA" })
    expect((await browser.post(typed, { code })).response.status).toBe(429)
    const { key } = sentCode(provider.cx(), id, of) ?? { key: "" }
    const opened = await browser.go(`${link()}&key=${key}`)
    expect((await browser.post(opened, { code: "BBBBBB" })).response.status).toBe(422)
    expect((await browser.post(opened, { code })).page).toContain(words)
  })

  test("is valid with the key in its fragment, as the page's script posts it", async () => {
    const code = await sendCode(of)
    const browser = browserOf(provider)
    const typed = await browser.go(link())
    for (let count = 0; count < 10; count++) await browser.post(typed, { code: "AAAAAA" })
    const { key } = sentCode(provider.cx(), id, of) ?? { key: "" }
    const wrong = `${code}&key=${"A".repeat(key.length)}`
    expect((await browser.post(typed, { code: wrong })).response.status).toBe(429)
    const done = await browser.post(typed, { code: `${code}&key=${key}` })
    expect(done.page).toContain(words)
  })

  test("reveals no user: wrong, missing, or a service account", async () => {
    await sendCode(of)
    const ids = [id, "404", JSON.parse(provider.setup.serviceKey).userId]
    const answers = ids.map(async (userId) => {
      const browser = browserOf(provider)
      const { response, page: text } = await browser.post(await browser.go(link(userId)), {
        code: "AAAAAA",
      })
      return [response.status, text.replaceAll(/value="[^"]*"/g, "")].join()
    })
    expect(new Set(await Promise.all(answers)).size).toBe(1)
  })

  test("can be tried ten times, and is rejected for locked users", async () => {
    const code = await sendCode(of)
    const browser = browserOf(provider)
    const first = await browser.go(link())
    await lockUser(provider.cx(), id)
    expect((await browser.post(first, { code })).response.status).toBe(403)
    for (let count = 0; count < 10; count++) await browser.post(first, { code: "AAAAAA" })
    expect((await browser.post(first, { code })).response.status).toBe(429)
    expect(isVerified(of)).toBe(false)
  })
})

test("the link for a new password stays valid after ten wrong codes", async () => {
  const code = createCode(provider.cx(), id, { of: "password", returned: false })
  await requestReset(provider.cx(), id, { code, channel: "email" })
  const { key } = sentCode(provider.cx(), id, "password") ?? { key: "" }
  const browser = browserOf(provider)
  const opened = await browser.go(`/ui/login/password/set?userId=${id}&key=${key}`)
  for (let count = 0; count < 10; count++) await browser.post(opened, { code: "AAAAAA" })
  const chosen = await browser.post(opened, { code: code.plain })
  const password = "Correct-horse-7-battery"
  const done = await browser.post(chosen, { password, repeat: password })
  expect(done.path).toBe("/ui/login/password/done")
})
