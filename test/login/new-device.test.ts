// Users are notified of a sign-in on a new device, if their organization's policy requires it.
import { afterEach, beforeEach, expect, test } from "vitest"
import { createCode } from "../../src/domain/credential/code.ts"
import { contentOf } from "../../src/domain/message/content.ts"
import { message } from "../../src/domain/message/index.ts"
import { changePolicy } from "../../src/domain/policy/commands.ts"
import { notification } from "../../src/domain/policy/index.ts"
import { inviteUser } from "../../src/domain/registration/invite.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { browserOf, openProvider, type Provider, password } from "../oauth/provider.ts"

let provider: Provider
beforeEach(async () => {
  provider = await openProvider()
  await provider.addPerson("pascal")
  await setNotifications(true)
})
afterEach(() => provider.close())

const setNotifications = (newDevice: boolean) =>
  changePolicy(provider.cx(), undefined, { policy: notification, apply: () => ({ newDevice }) })

const firefox = "Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0"
const requestOrigin = { address: "203.0.113.7", userAgent: firefox }
const openBrowser = () =>
  browserOf({ send: (path, init) => provider.send(path, init, { from: requestOrigin }) })

async function listNotices() {
  const { events } = await provider.store.log.find(0, 10_000, ["message.added"])
  return events.flatMap((event) => {
    const state = provider.store.state(provider.cx(), message, event.id)
    if (state.kind !== "new_device") return []
    const content = contentOf(provider.cx(), state)
    if ("over" in content) throw new Error(content.over)
    return [{ ...content, to: state.to, data: JSON.stringify(event.data) }]
  })
}

test("notifies once per device, with its browser and address, and only that user", async () => {
  const browser = openBrowser()
  await browser.signIn("/ui/login", "pascal")
  const [first, ...rest] = await listNotices()
  expect(rest).toEqual([])
  expect(first).toMatchObject({ to: "pascal@example.org", subject: "Sign-in on a new device" })
  expect(first?.text).toContain("Firefox, Windows, 203.0.113.7")
  expect(first?.link).toMatch(/\/ui\/account\/sessions$/)
  expect(first?.data).not.toContain("203.0.113.7")
  const device = browser
    .cookie()
    .split("; ")
    .find((each) => each.includes("device"))
  const again = openBrowser()
  again.setCookie(device ?? "")
  await again.signIn("/ui/login", "pascal")
  expect(await listNotices()).toHaveLength(1)
  provider.clock.advance(181 * 86_400_000)
  await again.signIn("/ui/login", "pascal")
  expect(await listNotices()).toHaveLength(2)
})

test("notifies nobody if the policy is off, or the password is wrong", async () => {
  await openBrowser().signIn("/ui/login", "pascal", "wrong")
  await setNotifications(false)
  await openBrowser().signIn("/ui/login", "pascal")
  expect(await listNotices()).toEqual([])
})

test("does not notify at the first sign-in", async () => {
  const cx = provider.cx()
  const newcomer = cx.ids.next()
  await createUser(cx, newcomer, {
    kind: "human",
    orgId: provider.setup.orgId,
    userName: "newcomer",
    profile: { givenName: "New", familyName: "Comer" },
    email: { value: "newcomer@example.org", verified: true },
  })
  const code = createCode(cx, newcomer, { of: "invite", returned: true })
  await inviteUser(cx, newcomer, { code, applicationName: undefined })
  const browser = openBrowser()
  const first = await browser.go(`/ui/login/verify?userId=${newcomer}&invite=true`)
  const choice = await browser.post(first, { code: code.plain })
  const done = await browser.post(choice, { password, repeat: password })
  expect(done.path).toBe("/ui/login/signedin")
  expect(await listNotices()).toEqual([])
})
