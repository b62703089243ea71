import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { sentCode } from "../../src/domain/credential/sent-code.ts"
import { addMember } from "../../src/domain/member/index.ts"
import { message } from "../../src/domain/message/index.ts"
import { messageReactor } from "../../src/domain/message/reactor.ts"
import { addOrganization } from "../../src/domain/org/index.ts"
import { changePolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import { setRestrictions } from "../../src/domain/quota/index.ts"
import { registrationCode } from "../../src/domain/registration/registration.ts"
import { createSignUpLink } from "../../src/domain/sign-up/link.ts"
import { signUpLink, signUpRequest } from "../../src/domain/sign-up/model.ts"
import { approveSignUp, refuseSignUp } from "../../src/domain/sign-up/request.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { findUser } from "../../src/domain/user-lookup/query.ts"
import { user } from "../../src/domain/user-model/model.ts"
import { runReactors } from "../../src/store/index.ts"
import { browserOf, openProvider, type Provider, type Visited } from "../oauth/provider.ts"

const own = { password: "Own-Battery-9", repeat: "Own-Battery-9" }
const given = { email: "rita@example.net", givenName: "Rita", familyName: "Roth" }
const day = 86_400_000
const register = "/ui/login/register"

let provider: Provider
beforeEach(async () => {
  provider = await openProvider()
  await says({ allowRegister: true, requireSignUpApproval: true })
})
afterEach(() => provider.close())

function says(values: object) {
  const say = (had: object) => ({ ...had, ...values })
  return changePolicy(provider.cx(), undefined, { policy: login, say } as never)
}

type Browser = ReturnType<typeof browserOf>
const idIn = ({ path }: Visited) => new URL(path, "https://x").searchParams.get("userId") ?? ""
const codeFor = (at: Visited) => registrationCode(provider.cx(), idIn(at))?.plain ?? ""
const stateOf = (id: string) => provider.store.state(provider.cx(), signUpRequest, id)
const isThere = (id: string) => provider.store.state(provider.cx(), user, id).status !== "absent"

async function signUp(fields = given, browser: Browser = browserOf(provider)) {
  const sent = await browser.post(await browser.go(register), fields)
  const end = await browser.post(sent, { code: codeFor(sent) })
  return { id: idIn(sent), sent, end, browser }
}

/** Whom the messages of a kind went to. */
async function recipients(kind: string) {
  const events = await provider.store.log.read(0, 100_000)
  const ids = events.filter(({ type }) => type === "message.added").map(({ id }) => id)
  return ids
    .map((id) => provider.store.state(provider.cx(), message, id))
    .filter((each) => each.kind === kind)
    .map(({ userId }) => userId)
}

describe("a sign-up that an administrator must approve", () => {
  test("makes no user, and asks for no password", async () => {
    const { id, end, browser } = await signUp()
    expect(end.path).toBe(`${register}/waiting`)
    expect(end.page).toContain("An administrator must approve your account")
    expect(end.page).not.toContain("<form")
    expect(isThere(id)).toBe(false)
    expect(stateOf(id)).toMatchObject({ status: "waiting", applicant: given })
    expect((await browser.go("/ui/login/signedin")).page).not.toContain("Rita")
  })

  test("waits only once the address is proven", async () => {
    const browser = browserOf(provider)
    const form = await browser.go(register)
    expect(form.page).toContain("An administrator must approve your account")
    const sent = await browser.post(form, given)
    const wrong = await browser.post(sent, { code: "AAAAAA" })
    expect(wrong.response.status).toBe(422)
    expect(wrong.page).toContain(`href="${register}"`)
    expect(stateOf(idIn(sent)).status).toBe("absent")
    expect(await recipients("sign_up_waiting")).toEqual([])
  })

  test("is approved: the user has an unverified address, and an invitation", async () => {
    const { id } = await signUp()
    await approveSignUp(provider.cx(), id)
    expect(findUser(provider.cx(), id)).toMatchObject({
      email: given.email,
      email_verified: false,
      org: provider.setup.orgId,
      user_name: given.email,
      given_name: "Rita",
    })
    expect(stateOf(id)).toMatchObject({ status: "approved", applicant: undefined })
    const { plain = "" } = sentCode(provider.cx(), id, "invite") ?? {}
    const browser = browserOf(provider)
    const opened = await browser.go(`/ui/login/verify?userId=${id}&organization=o&invite=true`)
    const choice = await browser.post(opened, { code: plain })
    await browser.post(choice, own)
    expect(findUser(provider.cx(), id).email_verified).toBe(true)
    const again = await browserOf(provider).signIn("/ui/login/loginname", given.email, own.password)
    expect(again.path).toBe("/ui/login/signedin")
  })

  test("is refused: what was entered is erased, and may be entered again", async () => {
    const { id } = await signUp()
    await refuseSignUp(provider.cx(), id)
    expect(isThere(id)).toBe(false)
    const events = await provider.store.log.read(0, 100_000)
    const kept = events.filter((event) => JSON.stringify(event.private)?.includes("rita@example"))
    expect(kept).toEqual([])
    const second = await signUp()
    expect(stateOf(second.id).status).toBe("waiting")
  })

  test("is decided once, also by two at the same time", async () => {
    const { id } = await signUp()
    const cx = provider.cx()
    const both = await Promise.allSettled([approveSignUp(cx, id), refuseSignUp(cx, id)])
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"])
    const decided = { id: "sign_up_request.decided" }
    await expect(approveSignUp(cx, id)).rejects.toMatchObject(decided)
    await expect(refuseSignUp(cx, id)).rejects.toMatchObject(decided)
  })

  test("waits once for each address, however spelled, and mails about it once", async () => {
    const { id } = await signUp()
    const second = await signUp({ ...given, email: "RITA@example.net", givenName: "Mallory" })
    expect(second.end.path).toBe(`${register}/waiting`)
    expect(stateOf(second.id).status).toBe("absent")
    expect(stateOf(id)).toMatchObject({ applicant: given })
    expect(await recipients("sign_up_waiting")).toHaveLength(1)
  })

  test("is submitted once by a double click, and both clicks lead to the same page", async () => {
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(register), given)
    const code = codeFor(sent)
    const ends = await Promise.all([1, 2, 3].map(() => browser.post(sent, { code })))
    expect(ends.map(({ path }) => path)).toEqual(Array(3).fill(`${register}/waiting`))
    expect(stateOf(idIn(sent)).status).toBe("waiting")
  })

  test("needs the mail with its code no more, and that is no failure", async () => {
    const cx = provider.cx()
    const reactors = runReactors(provider.store, provider.clock, [messageReactor(() => cx)])
    await reactors.drain()
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(register), given)
    await reactors.drain()
    const { events } = await provider.store.log.find(0, 10_000, ["message.added"])
    const [{ id = "" } = {}] = events
    const statusOf = () => provider.store.state(cx, message, id).status
    expect(["queued", "failed"]).toContain(statusOf())
    await browser.post(sent, { code: codeFor(sent) })
    await reactors.drain()
    await reactors.stop()
    expect(statusOf()).toBe("obsolete")
  })

  test("ends after 30 days", async () => {
    const { id } = await signUp()
    provider.clock.advance(30 * day)
    await expect(approveSignUp(provider.cx(), id)).rejects.toMatchObject({
      id: "sign_up_request.decided",
    })
    const { id: again } = await signUp()
    expect(stateOf(again).status).toBe("waiting")
  })

  test("can't be approved for an address that got an account meanwhile", async () => {
    const { id } = await signUp()
    await createUser(provider.cx(), "rita", {
      kind: "human",
      orgId: provider.setup.orgId,
      userName: "rita",
      profile: { givenName: "R", familyName: "R" },
      email: { value: given.email, verified: true },
    })
    await expect(approveSignUp(provider.cx(), id)).rejects.toMatchObject({
      id: "sign_up_request.account_exists",
    })
    expect(isThere(id)).toBe(false)
    await refuseSignUp(provider.cx(), id)
  })

  test("of an address that has an account never waits, and looks the same before", async () => {
    await createUser(provider.cx(), "rita", {
      kind: "human",
      orgId: provider.setup.orgId,
      userName: "rita",
      profile: { givenName: "R", familyName: "R" },
      email: { value: given.email, verified: true },
    })
    const { id, sent, end } = await signUp()
    expect(sent.path).toContain(`${register}/verify`)
    expect(end.response.status).toBe(422)
    expect(stateOf(id).status).toBe("absent")
  })

  test("waits also where approval is turned on after the code was shown", async () => {
    await says({ requireSignUpApproval: false })
    const { id, end, browser } = await signUp()
    await says({ requireSignUpApproval: true })
    const late = await browser.post(end, own)
    expect(late.path).toBe(`${register}/waiting`)
    expect([isThere(id), stateOf(id).status]).toEqual([false, "waiting"])
  })

  test("is not submitted where nobody may register any more", async () => {
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(register), given)
    await says({ allowRegister: false })
    const end = await browser.post(sent, { code: codeFor(sent) })
    expect(end.response.status).toBe(422)
    expect(stateOf(idIn(sent)).status).toBe("absent")
  })

  test("is not submitted where a thousand wait already", async () => {
    const cx = provider.cx()
    const { orgId } = provider.setup
    const data = { orgId, expires: provider.clock.now() + day }
    const added = { type: "sign_up_request.added", data, private: { ...given, language: "" } }
    await provider.store.transact(cx, (tx) => {
      for (let count = 0; count < 1000; count++)
        tx.append(signUpRequest, `q${count}`, [added], orgId)
    })
    const { id, end } = await signUp()
    expect(end.response.status).toBe(403)
    expect(stateOf(id).status).toBe("absent")
    await refuseSignUp(cx, "q0")
    const { id: next } = await signUp()
    expect(stateOf(next).status).toBe("waiting")
  })

  test("is not got round by beginning an organization", async () => {
    const cx = provider.cx()
    await setRestrictions(cx, cx.instance, { disallowPublicOrgRegistration: false })
    expect((await browserOf(provider).go(`${register}/org`)).response.status).toBe(403)
    await says({ requireSignUpApproval: false })
    expect((await browserOf(provider).go(`${register}/org`)).response.status).toBe(200)
  })
})

describe("administrators", () => {
  test("of the instance are mailed where the organization has none, not often", async () => {
    await signUp()
    expect(await recipients("sign_up_waiting")).toEqual([provider.setup.ownerId])
    for (let count = 0; count < 6; count++) {
      await signUp({ ...given, email: `rita${count}@example.net` })
    }
    expect(await recipients("sign_up_waiting")).toHaveLength(5)
    provider.clock.advance(3_600_001)
    await signUp({ ...given, email: "late@example.net" })
    expect(await recipients("sign_up_waiting")).toHaveLength(6)
  })

  test("of the organization who may write its users are mailed, and nobody else", async () => {
    const { orgId } = provider.setup
    const people = { boss: "ORG_OWNER", clerk: "ORG_USER_MANAGER", reader: "ORG_OWNER_VIEWER" }
    const ids: Record<string, string> = {}
    for (const [name, role] of Object.entries(people)) {
      const userId = await provider.addPerson(name)
      ids[name] = userId
      await provider.store.transact(provider.cx(), (tx) =>
        addMember(tx, { target: { level: "org", id: orgId }, userId, roles: [role] }),
      )
    }
    await signUp()
    expect((await recipients("sign_up_waiting")).toSorted()).toEqual(
      [ids.boss, ids.clerk].toSorted(),
    )
  })
})

describe("a sign-up link", () => {
  const linkTo = async (requiresApproval: boolean) => {
    const cx = provider.cx()
    await provider.store.transact(cx, (tx) => addOrganization(tx, "course", { name: "C" }))
    const id = cx.ids.next()
    const { url } = await createSignUpLink(cx, id, {
      orgId: "course",
      useLimit: 1,
      expires: provider.clock.now() + day,
      domains: [],
      requiresApproval,
    })
    const { pathname, search, hash } = new URL(url)
    return { id, path: `${pathname}${search}`, code: hash.slice(1) }
  }
  const along = async (link: Awaited<ReturnType<typeof linkTo>>) => {
    const browser = browserOf(provider)
    const form = await browser.post(await browser.go(link.path), { code: link.code })
    const sent = await browser.post(form, given)
    return { form, sent, end: await browser.post(sent, { code: codeFor(sent) }) }
  }
  const usesOf = (id: string) => provider.store.state(provider.cx(), signUpLink, id).uses

  test("that requires it waits, and counts the use", async () => {
    await says({ requireSignUpApproval: false, allowRegister: false })
    const link = await linkTo(true)
    const { form, sent, end } = await along(link)
    expect(form.page).toContain("An administrator must approve your account")
    expect(end.path).toBe(`${register}/waiting`)
    expect(usesOf(link.id)).toBe(1)
    expect(stateOf(idIn(sent))).toMatchObject({ status: "waiting", signUpLinkId: link.id })
    await approveSignUp(provider.cx(), idIn(sent))
    expect(findUser(provider.cx(), idIn(sent)).org).toBe("course")
    expect(usesOf(link.id)).toBe(1)
  })

  test("whose last use is a double click leads both clicks to the same page", async () => {
    const link = await linkTo(true)
    const browser = browserOf(provider)
    const form = await browser.post(await browser.go(link.path), { code: link.code })
    const sent = await browser.post(form, given)
    const code = codeFor(sent)
    const ends = await Promise.all([1, 2].map(() => browser.post(sent, { code })))
    expect(ends.map(({ path }) => path)).toEqual(Array(2).fill(`${register}/waiting`))
    expect(usesOf(link.id)).toBe(1)
  })

  test("that doesn't is the administrator's word, whatever the policy says", async () => {
    const { form, end } = await along(await linkTo(false))
    expect(form.page).not.toContain("An administrator must approve")
    expect(end.page).toContain("Rita Roth")
  })
})
