// A login page of somebody else, written with the services of v2 alone: it decides what to ask by
// what those answer. Its service user has the role for login pages, and no other.

import { Prompt } from "../../src/gen/core/oidc/v2/authorization_pb.ts"
import { UserVerificationRequirement } from "../../src/gen/core/session/v2/challenge_pb.ts"
import { issuer } from "../oauth/provider.ts"
import { makeKey } from "./authenticator.ts"
import type { Application, CustomLogin, Kept } from "./custom-login.ts"
import type { Asks, CodeKind, Face, Seat, Visit } from "./face.ts"

const users = "user.v2.UserService"
const sessions = "session.v2.SessionService"
const domain = new URL(issuer).hostname
const manner = { origin: issuer }
const { REQUIRED, DISCOURAGED } = UserVerificationRequirement
const returnCode = { case: "returnCode", value: {} } as const
const sendCode = { deliveryType: { case: "sendCode", value: {} } } as const

const inInstance = { ctx: { resourceOwner: { case: "instance", value: true } } } as const
const byName = (value: string) => ({ user: { search: { case: "loginName", value } } })
const idOf = (cause: unknown) =>
  typeof cause === "object" && cause !== null && "id" in cause ? String(cause.id) : ""

/** What the page asks for where the service doesn't answer a request yet. */
const missing: Readonly<Record<string, Asks>> = {
  "auth_request.check_again": "password",
  "auth_request.factor_missing": "factor",
  "auth_request.factor_unset": "set up",
}

const checkNames: Readonly<Record<CodeKind, string>> = {
  otp: "totp",
  otp_email: "otpEmail",
  otp_sms: "otpSms",
  recovery_codes: "recoveryCode",
}

export function customFace(page: CustomLogin, application: Application): Face {
  const { call } = page
  return {
    begin: async (seat, asked) => {
      const { path, finish } = await application.begin(asked, seat.browser)
      const visit = visitOf(page, { seat, request: await page.open(path), finish })
      await visit.start()
      return visit
    },
    reset: async (_, { name, own }) => {
      const userId = await idOfName(page, name)
      const sent = await call(`${users}/PasswordReset`, { userId, medium: returnCode })
      const verification = { case: "verificationCode", value: sent.verificationCode }
      await call(`${users}/SetPassword`, { userId, newPassword: { password: own }, verification })
    },
    invited: async ({ kept }, { name, userId, code: verificationCode, own }) => {
      await call(`${users}/VerifyInviteCode`, { userId, verificationCode })
      await call(`${users}/SetPassword`, { userId, newPassword: { password: own } })
      kept.push(await page.signIn(name, own))
    },
    device: async (_, { userCode, name, password }) => {
      const waiting = await page.device(userCode)
      const value = await page.signIn(name, password)
      await page.decide(waiting, { case: "session", value })
    },
  }
}

type Began = {
  readonly seat: Seat
  readonly request: Awaited<ReturnType<CustomLogin["open"]>>
  readonly finish: Awaited<ReturnType<Application["begin"]>>["finish"]
}

function visitOf(page: CustomLogin, { seat, request, finish }: Began) {
  const { call } = page
  let asks: Asks = "login name"
  let refused = false
  let name = ""
  let userId = ""
  let emailCode = ""
  let kept: Kept | undefined
  let url = ""

  /** Has the request answered, or learns what is missing. */
  async function goOn(next: Kept): Promise<void> {
    kept = next
    seat.kept.splice(0, seat.kept.length, ...seat.kept.filter(isOther(next)), next)
    try {
      url = await page.finish(request, next)
      asks = "nothing"
    } catch (cause) {
      const wanted = missing[idOf(cause)]
      if (!wanted) throw cause
      asks = wanted
    }
  }
  /** Tries what was given; what is wrong is asked again. */
  async function tried(give: () => Promise<Kept>): Promise<void> {
    refused = false
    try {
      await goOn(await give())
    } catch (cause) {
      if (idOf(cause) === "session.password_change_required") asks = "new password"
      else if (/_wrong$/.test(idOf(cause))) refused = true
      else throw cause
    }
  }
  const must = () => {
    if (!kept) throw new Error("nobody has proved anything yet")
    return kept
  }
  const own = async () => {
    const { session } = await call(`${sessions}/GetSession`, must())
    return String(session.factors.user.id)
  }
  async function assertion(of: Kept | undefined, requirement: UserVerificationRequirement) {
    const challenges = { webAuthN: { domain, userVerificationRequirement: requirement } }
    const answer = of
      ? await call(`${sessions}/SetSession`, { sessionId: of.sessionId, challenges })
      : await call(`${sessions}/CreateSession`, { checks: {}, challenges })
    const { publicKey } = answer.challenges.webAuthN.publicKeyCredentialRequestOptions
    return { of: { ...answer, sessionId: answer.sessionId || of?.sessionId }, publicKey }
  }
  const start = async () => {
    const wants = (prompt: Prompt) => request.prompt.includes(prompt)
    const [only, ...others] = seat.kept
    if (wants(Prompt.NONE)) {
      if (only && others.length === 0) await goOn(only).catch(() => undefined)
      if (asks === "nothing") return
      url = await page.refuse(request, { error: 9 })
      asks = "nothing"
    } else if (wants(Prompt.CREATE)) {
      const { settings } = await call("settings.v2.SettingsService/GetLoginSettings", inInstance)
      if (settings.allowRegister) asks = "account"
    } else if (only && (others.length > 0 || wants(Prompt.SELECT_ACCOUNT))) asks = "choice"
    else if (only) await goOn(only)
  }
  const visit: Visit & { readonly start: () => Promise<void> } = {
    start,
    asks: () => asks,
    isRefused: () => refused,
    name: async (loginName) => {
      name = loginName
      asks = "password"
    },
    other: async () => {
      kept = undefined
      asks = "login name"
    },
    password: (plain) =>
      tried(() =>
        kept ? page.check(kept, { password: { password: plain } }) : page.signIn(name, plain),
      ),
    code: async (of, read) => {
      const check = checkNames[of]
      if (of === "otp_email" || of === "otp_sms") {
        await page.check(must(), {}, { [check]: of === "otp_email" ? sendCode : {} })
      }
      const code = await read()
      await tried(() => page.check(must(), { [check]: { code } }))
    },
    key: (key) =>
      tried(async () => {
        const { of, publicKey } = await assertion(must(), DISCOURAGED)
        const credentialAssertionData = key.assertion(publicKey, manner)
        return page.check(of, { webAuthN: { credentialAssertionData } })
      }),
    passkey: (key) =>
      tried(async () => {
        const { of, publicKey } = await assertion(undefined, REQUIRED)
        const credentialAssertionData = key.assertion(publicKey, manner)
        return page.check(of, { webAuthN: { credentialAssertionData } })
      }),
    setUpApp: async (read) => {
      const id = await own()
      const { secret } = await call(`${users}/RegisterTOTP`, { userId: id })
      await call(`${users}/VerifyTOTPRegistration`, { userId: id, code: read(secret, -1) })
      await visit.code("otp", () => read(secret))
    },
    setUpPasskey: async () => {
      const key = await passkeyFor(page, await own())
      await visit.key(key)
      return key
    },
    newPassword: async ({ old: value, own: password }) => {
      const id = await idOfName(page, name)
      const verification = { case: "currentPassword", value }
      await call(`${users}/SetPassword`, { userId: id, newPassword: { password }, verification })
      await tried(() => page.signIn(name, password))
    },
    mailed: async (read) => {
      const challenges = { otpEmail: sendCode }
      kept ??= (await call(`${sessions}/CreateSession`, {
        checks: byName(name),
        challenges,
      })) as Kept
      const code = await read()
      await tried(() => page.check(must(), { otpEmail: { code } }))
    },
    register: async ({ name: username, email }) => {
      name = username
      const profile = { givenName: "Ada", familyName: "Lovelace" }
      const value = { profile, email: { email, verification: returnCode } }
      const { defaultOrganizationId: organizationId } = await call(
        "settings.v2.SettingsService/GetGeneralSettings",
      )
      const human = { organizationId, username, userType: { case: "human", value } }
      const made = await call(`${users}/CreateUser`, human)
      userId = made.id
      emailCode = made.emailCode
      asks = "code"
    },
    confirm: async (code = emailCode) => {
      refused = false
      try {
        await call(`${users}/VerifyEmail`, { userId, verificationCode: code })
        asks = "credential"
      } catch (cause) {
        if (idOf(cause) !== "user.code_wrong") throw cause
        refused = true
      }
    },
    begin: async (password) => {
      await call(`${users}/SetPassword`, { userId, newPassword: { password } })
      await tried(() => page.signIn(name, password))
    },
    choose: async (loginName) => {
      for (const each of seat.kept) {
        const { session } = await call(`${sessions}/GetSession`, each)
        if (session.factors.user.loginName === loginName) return goOn(each)
      }
      throw new Error(`${loginName} is not here`)
    },
    end: async () => (await finish(url)).claims,
  }
  return visit
}

const isOther =
  ({ sessionId }: Kept) =>
  (each: Kept) =>
    each.sessionId !== sessionId

async function idOfName({ call }: CustomLogin, loginName: string): Promise<string> {
  const query = { case: "loginNameQuery", value: { loginName } }
  const { result } = await call(`${users}/ListUsers`, { queries: [{ query }] })
  return String(result[0]?.userId ?? "")
}

async function passkeyFor({ call }: CustomLogin, userId: string) {
  const begun = await call(`${users}/RegisterPasskey`, { userId, domain })
  const key = makeKey(begun.publicKeyCredentialCreationOptions.publicKey, manner)
  const { passkeyId } = begun
  const publicKeyCredential = key.creation
  const made = { userId, passkeyId, passkeyName: "Phone", publicKeyCredential }
  await call(`${users}/VerifyPasskeyRegistration`, made)
  return key
}
