// Our own pages, as a person without any script goes through them; keys answer what pages ask.

import { sentCode } from "../../src/domain/credential/sent-code.ts"
import { registrationCode } from "../../src/domain/registration/registration.ts"
import {
  hiddenFields,
  issuer,
  type Provider,
  redirectUri,
  type Visited,
} from "../oauth/provider.ts"
import { makeKey } from "./authenticator.ts"
import type { Application } from "./custom-login.ts"
import type { Asks, Face, Seat, Visit } from "./face.ts"

const places: readonly (readonly [path: string, asks: Asks])[] = [
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

const manner = { origin: issuer }
const plainOf = (html: string) => html.replaceAll("&quot;", '"').replaceAll("&amp;", "&")
const optionsIn = (page: string) =>
  JSON.parse(plainOf(/data-key-options="([^"]*)"/.exec(page)?.[1] ?? "{}"))
/** The page from the form on that posts there. */
const from = (at: Visited, action: string): Visited => ({
  ...at,
  page: at.page.slice(Math.max(0, at.page.indexOf(`action="${action}"`) - 60)),
})
const twice = (password: string) => ({ password, repeat: password })

export function hostedFace(provider: Provider, application: Application): Face {
  return {
    begin: async (seat, asked) => {
      const { path, finish } = await application.begin(asked, seat.browser)
      const at = path.startsWith("/") ? await seat.browser.go(path) : { path, page: "" }
      return visitOf(provider, { seat, at, finish })
    },
    reset: async ({ browser }, { name, userId, own }) => {
      const page = await browser.go("/ui/login/password/forgot")
      await browser.post(page, { loginName: name })
      const code = sentCode(provider.cx(), userId, "password")?.plain ?? ""
      const link = await browser.go(`/ui/login/password/set?userId=${userId}`)
      await browser.post(await browser.post(link, { code }), twice(own))
    },
    invited: async ({ browser }, { userId, code, own }) => {
      const link = await browser.go(`/ui/login/verify?userId=${userId}&invite=true`)
      await browser.post(await browser.post(link, { code }), twice(own))
    },
    device: async ({ browser }, { userCode, name, password }) => {
      const named = await browser.post(await browser.go("/device"), { userCode })
      const asked = await browser.post(named, { loginName: name })
      const consent = await browser.post(asked, { loginName: name, password })
      await browser.post(consent, { answer: "allow" })
    },
  }
}

type Began = {
  readonly seat: Seat
  readonly at: Pick<Visited, "path" | "page"> & Partial<Visited>
  readonly finish: Awaited<ReturnType<Application["begin"]>>["finish"]
}

function visitOf(provider: Provider, { seat: { browser }, at: first, finish }: Began): Visit {
  let at: Visited = { response: new Response(), ...first }
  let loginName = ""
  const asks = () => {
    const found = places.find(([path]) => at.path.startsWith(path))
    if (!found) throw new Error(`nobody knows the page ${at.path}`)
    return found[1]
  }
  const post = async (fields: Readonly<Record<string, string>>, on = at) => {
    at = await browser.post(on, fields)
  }
  const askFor = async (factor: string) => {
    const link = new RegExp(`href="([^"]*factor=${factor})"`).exec(at.page)?.[1]
    if (link) at = await browser.go(plainOf(link))
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
    key: (key) => post({ credential: JSON.stringify(key.assertion(optionsIn(at.page), manner)) }),
    passkey: async (key) => {
      const form = from(at, "/ui/login/passkey")
      const credential = JSON.stringify(key.assertion(optionsIn(at.page), manner))
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
      const key = makeKey(optionsIn(at.page), manner)
      await post({ credential: JSON.stringify(key.creation) })
      return key
    },
    newPassword: ({ own }) => post(twice(own)),
    mailed: async (read) => {
      if (at.path.startsWith("/ui/login/password"))
        await post({ loginName }, from(at, "/ui/login/link"))
      await post({ code: await read() })
    },
    register: ({ email }) => post({ email, givenName: "Ada", familyName: "Lovelace" }),
    confirm: (code) => {
      const id = new URL(at.path, issuer).searchParams.get("userId") ?? hiddenFields(at.page).userId
      return post({ code: code ?? registrationCode(provider.cx(), id ?? "")?.plain ?? "" })
    },
    begin: (password) => post(twice(password)),
    choose: (name) => {
      const row = new RegExp(`value="([^"]*)"(?:(?!<button)[\\s\\S])*?${name}`).exec(
        at.page.slice(at.page.indexOf("<button")),
      )
      return post({ session: row?.[1] ?? "" })
    },
    end: async () => (await finish(at.path)).claims,
  }
}
