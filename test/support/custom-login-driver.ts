// A custom login page built with the v2 services alone: their responses decide the next step. Its
// service account has the role for login pages only.

import { Prompt } from "../../src/gen/core/oidc/v2/authorization_pb.ts"
import { UserVerificationRequirement } from "../../src/gen/core/session/v2/challenge_pb.ts"
import { issuer } from "../oauth/provider.ts"
import { createKey } from "./authenticator.ts"
import type { Application, CustomLoginPage, StoredSession } from "./custom-login-page.ts"
import type {
  BrowserState,
  CodeKind,
  SignInAttempt,
  SignInDriver,
  SignInStep,
} from "./sign-in-driver.ts"

const users = "user.v2.UserService"
const sessions = "session.v2.SessionService"
const domain = new URL(issuer).hostname
const authenticatorOptions = { origin: issuer }
const { REQUIRED, DISCOURAGED } = UserVerificationRequirement
const returnCode = { case: "returnCode", value: {} } as const
const sendCode = { deliveryType: { case: "sendCode", value: {} } } as const

const inInstance = { ctx: { resourceOwner: { case: "instance", value: true } } } as const
const byName = (value: string) => ({ user: { search: { case: "loginName", value } } })
const idOf = (cause: unknown) =>
  typeof cause === "object" && cause !== null && "id" in cause ? String(cause.id) : ""

/** The step that the page shows if the service can't complete a request yet. */
const stepByError: Readonly<Record<string, SignInStep>> = {
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

export function createCustomLoginDriver(
  page: CustomLoginPage,
  application: Application,
): SignInDriver {
  const { call } = page
  return {
    begin: async (state, parameters) => {
      const { path, finish } = await application.begin(parameters, state.browser)
      const attempt = createAttempt(page, { state, request: await page.open(path), finish })
      await attempt.start()
      return attempt
    },
    reset: async (_, { name, own }) => {
      const userId = await findUserId(page, name)
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

type StartedSignIn = {
  readonly state: BrowserState
  readonly request: Awaited<ReturnType<CustomLoginPage["open"]>>
  readonly finish: Awaited<ReturnType<Application["begin"]>>["finish"]
}

function createAttempt(page: CustomLoginPage, { state, request, finish }: StartedSignIn) {
  const { call } = page
  let asks: SignInStep = "login name"
  let refused = false
  let name = ""
  let userId = ""
  let emailCode = ""
  let kept: StoredSession | undefined
  let url = ""

  /** Completes the request, or learns what is missing. */
  async function complete(next: StoredSession): Promise<void> {
    kept = next
    state.kept.splice(0, state.kept.length, ...state.kept.filter(isOtherSession(next)), next)
    try {
      url = await page.finish(request, next)
      asks = "nothing"
    } catch (cause) {
      const options = stepByError[idOf(cause)]
      if (!options) throw cause
      asks = options
    }
  }
  /** Submits a value; a wrong one is asked for again. */
  async function submit(give: () => Promise<StoredSession>): Promise<void> {
    refused = false
    try {
      await complete(await give())
    } catch (cause) {
      if (idOf(cause) === "session.password_change_required") asks = "new password"
      else if (/_wrong$/.test(idOf(cause))) refused = true
      else throw cause
    }
  }
  const must = () => {
    if (!kept) throw new Error("no factor is verified yet")
    return kept
  }
  const own = async () => {
    const { session } = await call(`${sessions}/GetSession`, must())
    return String(session.factors.user.id)
  }
  async function assertion(
    of: StoredSession | undefined,
    requirement: UserVerificationRequirement,
  ) {
    const challenges = { webAuthN: { domain, userVerificationRequirement: requirement } }
    const response = of
      ? await call(`${sessions}/SetSession`, { sessionId: of.sessionId, challenges })
      : await call(`${sessions}/CreateSession`, { checks: {}, challenges })
    const { publicKey } = response.challenges.webAuthN.publicKeyCredentialRequestOptions
    return { of: { ...response, sessionId: response.sessionId || of?.sessionId }, publicKey }
  }
  const start = async () => {
    const wants = (prompt: Prompt) => request.prompt.includes(prompt)
    const [only, ...others] = state.kept
    if (wants(Prompt.NONE)) {
      if (only && others.length === 0) await complete(only).catch(() => undefined)
      if (asks === "nothing") return
      url = await page.refuse(request, { error: 9 })
      asks = "nothing"
    } else if (wants(Prompt.CREATE)) {
      const { settings } = await call("settings.v2.SettingsService/GetLoginSettings", inInstance)
      if (settings.allowRegister) asks = "account"
    } else if (only && (others.length > 0 || wants(Prompt.SELECT_ACCOUNT))) asks = "choice"
    else if (only) await complete(only)
  }
  const attempt: SignInAttempt & { readonly start: () => Promise<void> } = {
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
      submit(() =>
        kept ? page.check(kept, { password: { password: plain } }) : page.signIn(name, plain),
      ),
    code: async (of, read) => {
      const check = checkNames[of]
      if (of === "otp_email" || of === "otp_sms") {
        await page.check(must(), {}, { [check]: of === "otp_email" ? sendCode : {} })
      }
      const code = await read()
      await submit(() => page.check(must(), { [check]: { code } }))
    },
    key: (key) =>
      submit(async () => {
        const { of, publicKey } = await assertion(must(), DISCOURAGED)
        const credentialAssertionData = key.assertion(publicKey, authenticatorOptions)
        return page.check(of, { webAuthN: { credentialAssertionData } })
      }),
    passkey: (key) =>
      submit(async () => {
        const { of, publicKey } = await assertion(undefined, REQUIRED)
        const credentialAssertionData = key.assertion(publicKey, authenticatorOptions)
        return page.check(of, { webAuthN: { credentialAssertionData } })
      }),
    setUpApp: async (read) => {
      const id = await own()
      const { secret } = await call(`${users}/RegisterTOTP`, { userId: id })
      await call(`${users}/VerifyTOTPRegistration`, { userId: id, code: read(secret, -1) })
      await attempt.code("otp", () => read(secret))
    },
    setUpPasskey: async () => {
      const key = await requestPasskey(page, await own())
      await attempt.key(key)
      return key
    },
    newPassword: async ({ old: value, own: password }) => {
      const id = await findUserId(page, name)
      const verification = { case: "currentPassword", value }
      await call(`${users}/SetPassword`, { userId: id, newPassword: { password }, verification })
      await submit(() => page.signIn(name, password))
    },
    mailed: async (read) => {
      const challenges = { otpEmail: sendCode }
      kept ??= (await call(`${sessions}/CreateSession`, {
        checks: byName(name),
        challenges,
      })) as StoredSession
      const code = await read()
      await submit(() => page.check(must(), { otpEmail: { code } }))
    },
    register: async ({ name: username, email }) => {
      name = username
      const profile = { givenName: "Ada", familyName: "Lovelace" }
      const value = { profile, email: { email, verification: returnCode } }
      const { defaultOrganizationId: organizationId } = await call(
        "settings.v2.SettingsService/GetGeneralSettings",
      )
      const human = { organizationId, username, userType: { case: "human", value } }
      const created = await call(`${users}/CreateUser`, human)
      userId = created.id
      emailCode = created.emailCode
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
      await submit(() => page.signIn(name, password))
    },
    choose: async (loginName) => {
      for (const each of state.kept) {
        const { session } = await call(`${sessions}/GetSession`, each)
        if (session.factors.user.loginName === loginName) return complete(each)
      }
      throw new Error(`${loginName} is not here`)
    },
    end: async () => (await finish(url)).claims,
  }
  return attempt
}

const isOtherSession =
  ({ sessionId }: StoredSession) =>
  (each: StoredSession) =>
    each.sessionId !== sessionId

async function findUserId({ call }: CustomLoginPage, loginName: string): Promise<string> {
  const query = { case: "loginNameQuery", value: { loginName } }
  const { result } = await call(`${users}/ListUsers`, { queries: [{ query }] })
  return String(result[0]?.userId ?? "")
}

async function requestPasskey({ call }: CustomLoginPage, userId: string) {
  const begun = await call(`${users}/RegisterPasskey`, { userId, domain })
  const key = createKey(begun.publicKeyCredentialCreationOptions.publicKey, authenticatorOptions)
  const { passkeyId } = begun
  const publicKeyCredential = key.creation
  const created = { userId, passkeyId, passkeyName: "Phone", publicKeyCredential }
  await call(`${users}/VerifyPasskeyRegistration`, created)
  return key
}
