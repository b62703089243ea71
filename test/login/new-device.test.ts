// People hear of a sign-in on a device that is new, where their organisation wants that.
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
  await say(true)
})
afterEach(() => provider.close())

const say = (newDevice: boolean) =>
  changePolicy(provider.cx(), undefined, { policy: notification, say: () => ({ newDevice }) })

const firefox = "Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0"
const from = { address: "203.0.113.7", userAgent: firefox }
const opened = () => browserOf({ send: (path, init) => provider.send(path, init, { from }) })

async function told() {
  const { events } = await provider.store.log.find(0, 10_000, ["message.added"])
  return events.flatMap((event) => {
    const state = provider.store.state(provider.cx(), message, event.id)
    if (state.kind !== "new_device") return []
    const content = contentOf(provider.cx(), state)
    if ("over" in content) throw new Error(content.over)
    return [{ ...content, to: state.to, data: JSON.stringify(event.data) }]
  })
}

test("once for each device, with its browser and address, which are theirs alone", async () => {
  const browser = opened()
  await browser.signIn("/ui/login", "pascal")
  const [first, ...rest] = await told()
  expect(rest).toEqual([])
  expect(first).toMatchObject({ to: "pascal@example.org", subject: "Sign-in on a new device" })
  expect(first?.text).toContain("Firefox, Windows, 203.0.113.7")
  expect(first?.link).toMatch(/\/ui\/account\/sessions$/)
  expect(first?.data).not.toContain("203.0.113.7")
  const device = browser
    .cookie()
    .split("; ")
    .find((each) => each.includes("device"))
  const again = opened()
  again.setCookie(device ?? "")
  await again.signIn("/ui/login", "pascal")
  expect(await told()).toHaveLength(1)
  provider.clock.advance(181 * 86_400_000)
  await again.signIn("/ui/login", "pascal")
  expect(await told()).toHaveLength(2)
})

test("nobody where the policy says nothing of it, nor by a password that is wrong", async () => {
  await opened().signIn("/ui/login", "pascal", "wrong")
  await say(false)
  await opened().signIn("/ui/login", "pascal")
  expect(await told()).toEqual([])
})

test("nobody who signs in for the first time", async () => {
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
  const browser = opened()
  const first = await browser.go(`/ui/login/verify?userId=${newcomer}&invite=true`)
  const choice = await browser.post(first, { code: code.plain })
  const done = await browser.post(choice, { password, repeat: password })
  expect(done.path).toBe("/ui/login/signedin")
  expect(await told()).toEqual([])
})
