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
import { requireUserRow } from "../../src/domain/user-lookup/query.ts"
import { user } from "../../src/domain/user-model/model.ts"
import { runReactors } from "../../src/store/index.ts"
import { browserOf, openProvider, type Provider, type VisitedPage } from "../oauth/provider.ts"

const ownPassword = { password: "Own-Battery-9", repeat: "Own-Battery-9" }
const registrationFields = { email: "rita@example.net", givenName: "Rita", familyName: "Roth" }
const day = 86_400_000
const registerPath = "/ui/login/register"

let provider: Provider
beforeEach(async () => {
  provider = await openProvider()
  await setLoginPolicy({ allowRegister: true, requireSignUpApproval: true })
})
afterEach(() => provider.close())

function setLoginPolicy(values: object) {
  const apply = (before: object) => ({ ...before, ...values })
  return changePolicy(provider.cx(), undefined, { policy: login, apply } as never)
}

type Browser = ReturnType<typeof browserOf>
const idIn = ({ path }: VisitedPage) => new URL(path, "https://x").searchParams.get("userId") ?? ""
const codeFor = (at: VisitedPage) => registrationCode(provider.cx(), idIn(at))?.plain ?? ""
const stateOf = (id: string) => provider.store.state(provider.cx(), signUpRequest, id)
const userExists = (id: string) => provider.store.state(provider.cx(), user, id).status !== "absent"

async function signUp(fields = registrationFields, browser: Browser = browserOf(provider)) {
  const sent = await browser.post(await browser.go(registerPath), fields)
  const end = await browser.post(sent, { code: codeFor(sent) })
  return { id: idIn(sent), sent, end, browser }
}

/** The recipients of messages of a kind. */
async function recipients(kind: string) {
  const events = await provider.store.log.read(0, 100_000)
  const ids = events.filter(({ type }) => type === "message.added").map(({ id }) => id)
  return ids
    .map((id) => provider.store.state(provider.cx(), message, id))
    .filter((each) => each.kind === kind)
    .map(({ userId }) => userId)
}

describe("a sign-up that an administrator must approve", () => {
  test("creates no user, and asks for no password", async () => {
    const { id, end, browser } = await signUp()
    expect(end.path).toBe(`${registerPath}/waiting`)
    expect(end.page).toContain("An administrator must approve your account")
    expect(end.page).not.toContain("<form")
    expect(userExists(id)).toBe(false)
    expect(stateOf(id)).toMatchObject({ status: "waiting", applicant: registrationFields })
    expect((await browser.go("/ui/login/signedin")).page).not.toContain("Rita")
  })

  test("waits for approval only after the address is verified", async () => {
    const browser = browserOf(provider)
    const form = await browser.go(registerPath)
    expect(form.page).toContain("An administrator must approve your account")
    const sent = await browser.post(form, registrationFields)
    const wrong = await browser.post(sent, { code: "AAAAAA" })
    expect(wrong.response.status).toBe(422)
    expect(wrong.page).toContain(`href="${registerPath}"`)
    expect(stateOf(idIn(sent)).status).toBe("absent")
    expect(await recipients("sign_up_waiting")).toEqual([])
  })

  test("is approved: the user has an unverified address, and an invitation", async () => {
    const { id } = await signUp()
    await approveSignUp(provider.cx(), id)
    expect(requireUserRow(provider.cx(), id)).toMatchObject({
      email: registrationFields.email,
      email_verified: false,
      org: provider.setup.orgId,
      user_name: registrationFields.email,
      given_name: "Rita",
    })
    expect(stateOf(id)).toMatchObject({ status: "approved", applicant: undefined })
    const { plain = "" } = sentCode(provider.cx(), id, "invite") ?? {}
    const browser = browserOf(provider)
    const opened = await browser.go(`/ui/login/verify?userId=${id}&organization=o&invite=true`)
    const choice = await browser.post(opened, { code: plain })
    await browser.post(choice, ownPassword)
    expect(requireUserRow(provider.cx(), id).email_verified).toBe(true)
    const again = await browserOf(provider).signIn(
      "/ui/login/loginname",
      registrationFields.email,
      ownPassword.password,
    )
    expect(again.path).toBe("/ui/login/signedin")
  })

  test("is denied: the entered data is erased, and can be entered again", async () => {
    const { id } = await signUp()
    await refuseSignUp(provider.cx(), id)
    expect(userExists(id)).toBe(false)
    const events = await provider.store.log.read(0, 100_000)
    const kept = events.filter((event) => JSON.stringify(event.private)?.includes("rita@example"))
    expect(kept).toEqual([])
    const second = await signUp()
    expect(stateOf(second.id).status).toBe("waiting")
  })

  test("is decided once, also by two administrators concurrently", async () => {
    const { id } = await signUp()
    const cx = provider.cx()
    const both = await Promise.allSettled([approveSignUp(cx, id), refuseSignUp(cx, id)])
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"])
    const decided = { id: "sign_up_request.decided" }
    await expect(approveSignUp(cx, id)).rejects.toMatchObject(decided)
    await expect(refuseSignUp(cx, id)).rejects.toMatchObject(decided)
  })

  test("is queued once per address, however spelled, with one email about it", async () => {
    const { id } = await signUp()
    const second = await signUp({
      ...registrationFields,
      email: "RITA@example.net",
      givenName: "Mallory",
    })
    expect(second.end.path).toBe(`${registerPath}/waiting`)
    expect(stateOf(second.id).status).toBe("absent")
    expect(stateOf(id)).toMatchObject({ applicant: registrationFields })
    expect(await recipients("sign_up_waiting")).toHaveLength(1)
  })

  test("is submitted once by a double click, and both clicks lead to the same page", async () => {
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(registerPath), registrationFields)
    const code = codeFor(sent)
    const ends = await Promise.all([1, 2, 3].map(() => browser.post(sent, { code })))
    expect(ends.map(({ path }) => path)).toEqual(Array(3).fill(`${registerPath}/waiting`))
    expect(stateOf(idIn(sent)).status).toBe("waiting")
  })

  test("discards the email with its code, which is not reported as a failure", async () => {
    const cx = provider.cx()
    const reactors = runReactors(provider.store, provider.clock, [messageReactor(() => cx)])
    await reactors.drain()
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(registerPath), registrationFields)
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
      email: { value: registrationFields.email, verified: true },
    })
    await expect(approveSignUp(provider.cx(), id)).rejects.toMatchObject({
      id: "sign_up_request.account_exists",
    })
    expect(userExists(id)).toBe(false)
    await refuseSignUp(provider.cx(), id)
  })

  test("of an address with an account is never queued, and looks the same before", async () => {
    await createUser(provider.cx(), "rita", {
      kind: "human",
      orgId: provider.setup.orgId,
      userName: "rita",
      profile: { givenName: "R", familyName: "R" },
      email: { value: registrationFields.email, verified: true },
    })
    const { id, sent, end } = await signUp()
    expect(sent.path).toContain(`${registerPath}/verify`)
    expect(end.response.status).toBe(422)
    expect(stateOf(id).status).toBe("absent")
  })

  test("is queued also if approval is turned on after the code was entered", async () => {
    await setLoginPolicy({ requireSignUpApproval: false })
    const { id, end, browser } = await signUp()
    await setLoginPolicy({ requireSignUpApproval: true })
    const late = await browser.post(end, ownPassword)
    expect(late.path).toBe(`${registerPath}/waiting`)
    expect([userExists(id), stateOf(id).status]).toEqual([false, "waiting"])
  })

  test("is not submitted if registration is off", async () => {
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(registerPath), registrationFields)
    await setLoginPolicy({ allowRegister: false })
    const end = await browser.post(sent, { code: codeFor(sent) })
    expect(end.response.status).toBe(422)
    expect(stateOf(idIn(sent)).status).toBe("absent")
  })

  test("is not submitted if a thousand are queued", async () => {
    const cx = provider.cx()
    const { orgId } = provider.setup
    const data = { orgId, expires: provider.clock.now() + day }
    const added = {
      type: "sign_up_request.added",
      data,
      private: { ...registrationFields, language: "" },
    }
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

  test("can't be bypassed by creating an organization", async () => {
    const cx = provider.cx()
    await setRestrictions(cx, cx.instance, { disallowPublicOrgRegistration: false })
    expect((await browserOf(provider).go(`${registerPath}/org`)).response.status).toBe(403)
    await setLoginPolicy({ requireSignUpApproval: false })
    expect((await browserOf(provider).go(`${registerPath}/org`)).response.status).toBe(200)
  })
})

describe("administrators", () => {
  test("of the instance are emailed if the organization has none, at a limited rate", async () => {
    await signUp()
    expect(await recipients("sign_up_waiting")).toEqual([provider.setup.ownerId])
    for (let count = 0; count < 6; count++) {
      await signUp({ ...registrationFields, email: `rita${count}@example.net` })
    }
    expect(await recipients("sign_up_waiting")).toHaveLength(5)
    provider.clock.advance(3_600_001)
    await signUp({ ...registrationFields, email: "late@example.net" })
    expect(await recipients("sign_up_waiting")).toHaveLength(6)
  })

  test("of the organization who can write its users are emailed, and nobody else", async () => {
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
    const sent = await browser.post(form, registrationFields)
    return { form, sent, end: await browser.post(sent, { code: codeFor(sent) }) }
  }
  const usesOf = (id: string) => provider.store.state(provider.cx(), signUpLink, id).uses

  test("that requires approval queues the request, and counts the use", async () => {
    await setLoginPolicy({ requireSignUpApproval: false, allowRegister: false })
    const link = await linkTo(true)
    const { form, sent, end } = await along(link)
    expect(form.page).toContain("An administrator must approve your account")
    expect(end.path).toBe(`${registerPath}/waiting`)
    expect(usesOf(link.id)).toBe(1)
    expect(stateOf(idIn(sent))).toMatchObject({ status: "waiting", signUpLinkId: link.id })
    await approveSignUp(provider.cx(), idIn(sent))
    expect(requireUserRow(provider.cx(), idIn(sent)).org).toBe("course")
    expect(usesOf(link.id)).toBe(1)
  })

  test("whose last use is a double click leads both clicks to the same page", async () => {
    const link = await linkTo(true)
    const browser = browserOf(provider)
    const form = await browser.post(await browser.go(link.path), { code: link.code })
    const sent = await browser.post(form, registrationFields)
    const code = codeFor(sent)
    const ends = await Promise.all([1, 2].map(() => browser.post(sent, { code })))
    expect(ends.map(({ path }) => path)).toEqual(Array(2).fill(`${registerPath}/waiting`))
    expect(usesOf(link.id)).toBe(1)
  })

  test("that doesn't require approval overrides the policy", async () => {
    const { form, end } = await along(await linkTo(false))
    expect(form.page).not.toContain("An administrator must approve")
    expect(end.page).toContain("Rita Roth")
  })
})
