// Our own login pages, as a user without script uses them; keys respond to the page's options.

import { sentCode } from "../../src/domain/credential/sent-code.ts"
import { registrationCode } from "../../src/domain/registration/registration.ts"
import {
  hiddenFields,
  issuer,
  type Provider,
  redirectUri,
  type VisitedPage,
} from "../oauth/provider.ts"
import { createKey } from "./authenticator.ts"
import type { Application } from "./custom-login-page.ts"
import type { BrowserState, SignInAttempt, SignInDriver, SignInStep } from "./sign-in-driver.ts"

const stepByPath: readonly (readonly [path: string, asks: SignInStep])[] = [
  ["/ui/login/loginname", "login name"],
  ["/ui/login/password/change", "new password"],
  ["/ui/login/password", "password"],
  ["/ui/login/link", "password"],
  ["/ui/login/mfa/verify", "factor"],
  ["/ui/login/mfa/set", "set up"],
  ["/ui/login/register/verify", "code"],
  ["/ui/login/register/password", "credential"],
  ["/ui/login/register", "account"],
  ["/ui/login/accounts", "choice"],
  [redirectUri, "nothing"],
]

const authenticatorOptions = { origin: issuer }
const unescapeHtml = (html: string) => html.replaceAll("&quot;", '"').replaceAll("&amp;", "&")
const optionsIn = (page: string) =>
  JSON.parse(unescapeHtml(/data-key-options="([^"]*)"/.exec(page)?.[1] ?? "{}"))
/** The part of a page that starts with the form for an action. */
const fromForm = (at: VisitedPage, action: string): VisitedPage => ({
  ...at,
  page: at.page.slice(Math.max(0, at.page.indexOf(`action="${action}"`) - 60)),
})
const passwordFields = (password: string) => ({ password, repeat: password })

export function createHostedLoginDriver(
  provider: Provider,
  application: Application,
): SignInDriver {
  return {
    begin: async (state, parameters) => {
      const { path, finish } = await application.begin(parameters, state.browser)
      const at = path.startsWith("/") ? await state.browser.go(path) : { path, page: "" }
      return createAttempt(provider, { state, at, finish })
    },
    reset: async ({ browser }, { name, userId, own }) => {
      const page = await browser.go("/ui/login/password/forgot")
      await browser.post(page, { loginName: name })
      const code = sentCode(provider.cx(), userId, "password")?.plain ?? ""
      const link = await browser.go(`/ui/login/password/set?userId=${userId}`)
      await browser.post(await browser.post(link, { code }), passwordFields(own))
    },
    invited: async ({ browser }, { userId, code, own }) => {
      const link = await browser.go(`/ui/login/verify?userId=${userId}&invite=true`)
      await browser.post(await browser.post(link, { code }), passwordFields(own))
    },
    device: async ({ browser }, { userCode, name, password }) => {
      const named = await browser.post(await browser.go("/device"), { userCode })
      const parameters = await browser.post(named, { loginName: name })
      const consent = await browser.post(parameters, { loginName: name, password })
      await browser.post(consent, { answer: "allow" })
    },
  }
}

type StartedSignIn = {
  readonly state: BrowserState
  readonly at: Pick<VisitedPage, "path" | "page"> & Partial<VisitedPage>
  readonly finish: Awaited<ReturnType<Application["begin"]>>["finish"]
}

function createAttempt(
  provider: Provider,
  { state: { browser }, at: first, finish }: StartedSignIn,
): SignInAttempt {
  let at: VisitedPage = { response: new Response(), ...first }
  let loginName = ""
  const asks = () => {
    const found = stepByPath.find(([path]) => at.path.startsWith(path))
    if (!found) throw new Error(`no step for the page ${at.path}`)
    return found[1]
  }
  const post = async (fields: Readonly<Record<string, string>>, on = at) => {
    at = await browser.post(on, fields)
  }
  const askFor = async (factor: string) => {
    const link = new RegExp(`href="([^"]*factor=${factor})"`).exec(at.page)?.[1]
    if (link) at = await browser.go(unescapeHtml(link))
  }
  return {
    asks,
    isRefused: () => at.response.status === 422,
    name: (name) => {
      loginName = name
      return post({ loginName })
    },
    password: (password) => {
      const shown = /name="loginName" value="([^"]*)"/.exec(at.page)?.[1]
      return post({ loginName: shown ?? loginName, password })
    },
    other: async () => {
      const query = new URL(at.path, issuer).searchParams.get("authRequest") ?? ""
      at = await browser.go(`/ui/login/loginname?authRequest=${query}`)
    },
    code: async (of, read) => {
      await askFor(of)
      if (of === "otp_email" || of === "otp_sms") await post({ send: "code" })
      await post({ code: await read(), send: "" })
    },
    key: (key) =>
      post({ credential: JSON.stringify(key.assertion(optionsIn(at.page), authenticatorOptions)) }),
    passkey: async (key) => {
      const form = fromForm(at, "/ui/login/passkey")
      const credential = JSON.stringify(key.assertion(optionsIn(at.page), authenticatorOptions))
      const { challenge = "" } = hiddenFields(at.page)
      await post({ challenge, credential }, form)
    },
    setUpApp: async (read) => {
      await post({ factor: "otp" })
      const secret = /<code>([^<]*)<\/code>/.exec(at.page)?.[1] ?? ""
      await post({ code: read(secret.replaceAll(" ", "")) })
    },
    setUpPasskey: async () => {
      await post({ factor: "passkey" })
      const key = createKey(optionsIn(at.page), authenticatorOptions)
      await post({ credential: JSON.stringify(key.creation) })
      return key
    },
    newPassword: ({ own }) => post(passwordFields(own)),
    mailed: async (read) => {
      if (at.path.startsWith("/ui/login/password"))
        await post({ loginName }, fromForm(at, "/ui/login/link"))
      await post({ code: await read() })
    },
    register: ({ email }) => post({ email, givenName: "Ada", familyName: "Lovelace" }),
    confirm: (code) => {
      const id = new URL(at.path, issuer).searchParams.get("userId") ?? hiddenFields(at.page).userId
      return post({ code: code ?? registrationCode(provider.cx(), id ?? "")?.plain ?? "" })
    },
    begin: (password) => post(passwordFields(password)),
    choose: (name) => {
      const row = new RegExp(`value="([^"]*)"(?:(?!<button)[\\s\\S])*?${name}`).exec(
        at.page.slice(at.page.indexOf("<button")),
      )
      return post({ session: row?.[1] ?? "" })
    },
    end: async () => (await finish(at.path)).claims,
  }
}
