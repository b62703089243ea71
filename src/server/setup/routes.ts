import type { SetupField, SetupPageProps, TextKey } from "../../../ui/login/index.ts"
import { publicOriginOf } from "../../domain/instance/index.ts"
import { lengthOnly } from "../../domain/policy/index.ts"
import { enterBrowser, readBrowser } from "../../domain/session/index.ts"
import { firstInstance, type SetupInput, setUp } from "../../domain/setup/index.ts"
import type { Origin } from "../../http/origin.ts"
import { type Answer, areaOf } from "../../http/route.ts"
import type { Visit } from "../../http/visit.ts"
import { Fault } from "../../kernel/fault.ts"
import { passwordText, type ShowPage, showFault, showTrouble } from "../../login/index.ts"
import { languagesOf, wantsPage } from "../../protocol/accept.ts"
import { type FormMax, formType, formWithin } from "../../protocol/body.ts"
import { type Network, systemNetwork } from "../../runtime/network.ts"
import type { Cx } from "../../store/index.ts"
import { fromOf } from "../caller.ts"
import type { ServerServices } from "../services.ts"
import { reachedAt, whyNotReached } from "./reach.ts"
import type { SetupDoor } from "./setup-token.ts"

const formMax: FormMax = { bytes: 16_384, parameters: 50 }

type Values = Partial<Record<SetupField, string>>
type Wrong = Pick<SetupPageProps, "error" | "errors" | "strayUrl">

type Render = Parameters<ShowPage>[1]
type FilledForm = Pick<SetupPageProps, "values" | "seenUrl" | "keptPassword">

/**
 * The address that a request came to, which the form proposes. The scheme is what a proxy says of
 * it, trusted or not: nobody but the owner with the code is asked.
 */
function seenUrlOf(request: Request, { host }: Origin): string {
  const forwarded = request.headers.get("x-forwarded-proto")?.split(",")[0]?.trim()
  const isScheme = forwarded === "https" || forwarded === "http"
  return `${isScheme ? `${forwarded}:` : new URL(request.url).protocol}//${host}`
}

/** An origin as a browser writes it; undefined for anything else. */
function originIn(text: string | undefined): string | undefined {
  const url = URL.parse(text ?? "")
  return url && /^https?:$/.test(url.protocol) && url.origin === text ? url.origin : undefined
}

/** The form behind the set-up link: how it is shown, and what becomes of it. */
function setupForm(
  services: ServerServices,
  setupToken: SetupDoor,
  show: ShowPage,
  send: Network["send"],
) {
  const target = { action: "/setup", csrf: "" }

  const page = (
    cx: Cx,
    shown: FilledForm,
    { status, ...wrong }: Wrong & { readonly status: number },
  ) => {
    const rules = { rules: lengthOnly, ...shown }
    const render: Render = (ui, shared) =>
      ui.SetupPage({ ...shared, form: target, ...rules, ...wrong })
    return show(cx, render, { status })
  }

  const post = async (cx: Cx, request: Request, seenUrl: string): Promise<Response> => {
    const { values, password, keptPassword } = await fieldsOf(services, request)
    const shown = { values, seenUrl, keptPassword }
    const { t } = await texts(cx)
    if (!(await setupToken.matches(values.token ?? ""))) {
      cx.allowance?.spend("guess")
      return page(cx, shown, { errors: { token: t("setup.error.token") }, status: 403 })
    }
    const browser = originIn(values.browserOrigin) ?? seenUrl
    try {
      const publicUrl = publicOriginOf((values.publicUrl ?? "").trim())
      // Where the browser is, it has just been answered.
      const isProven = publicUrl === browser || publicUrl === values.keptUrl
      const stray = isProven ? undefined : await whyNotReached(services, publicUrl, send)
      if (stray !== undefined) {
        const said = { address: publicUrl, browser, reason: stray }
        const errors = { publicUrl: t("setup.error.public_url_other", said) }
        return await page(cx, shown, { errors, strayUrl: publicUrl, status: 400 })
      }
      const { ownerId } = await setUp(cx, inputOf({ ...values, publicUrl }, password))
      setupToken.close()
      services.log.info("the instance was set up at {publicUrl}", { publicUrl })
      return await enter(cx, request, { ownerId, publicUrl, browser })
    } catch (cause) {
      if (!(cause instanceof Fault)) throw cause
      const wrong = await wrongOf(cx, cause)
      // What was refused is typed anew.
      const kept = wrong.errors?.password ? undefined : keptPassword
      return page(cx, { ...shown, keptPassword: kept }, { ...wrong, status: 400 })
    }
  }

  return { page, post }
}

/** The form behind the set-up link, and what proves that an address leads to this server. */
export function setupRoutes(
  services: ServerServices,
  setupToken: SetupDoor,
  show: ShowPage,
  send = systemNetwork.send,
) {
  const { page, post } = setupForm(services, setupToken, show, send)
  const form = async ({ request }: Visit, origin: Origin): Promise<Response | undefined> => {
    const cx = visitorBefore(services, request, origin)
    const seenUrl = seenUrlOf(request, origin)
    if (request.method === "POST") {
      return post(cx, request, seenUrl).catch((cause) => {
        if (cause instanceof Fault && cause.retryAfterSeconds) return showFault(show, cx, cause)
        throw cause
      })
    }
    if (!wantsPage(request)) return undefined
    return page(cx, { values: { publicUrl: seenUrl }, seenUrl }, { status: 200 })
  }
  return areaOf("other", {
    "/setup": {
      unowned: form,
      answer: ({ request, cx }) => (wantsPage(request) ? showDone(show, cx) : undefined),
    },
    "/setup/reached/*": {
      unowned: ({ url }) => reachedAt(services, url.pathname),
    },
  })
}

const showDone = (show: ShowPage, cx: Cx) =>
  showTrouble(show, cx, { problem: "set_up_done", status: 404, startHref: "/ui/console/" })

/** What every other path says while nobody owns the server; programs get the API's own word. */
export function setupLinkPage(
  services: ServerServices,
  show: ShowPage,
  { request, origin }: Visit & { readonly origin: Origin },
): Answer {
  if (!wantsPage(request)) return undefined
  const cx = visitorBefore(services, request, origin)
  return show(cx, (ui, shared) => ui.SetupLinkPage(shared), { status: 503 })
}

/** A call of who comes before there is an instance. */
export const visitorBefore = (services: ServerServices, request: Request, origin: Origin): Cx => ({
  ...services.call(firstInstance, "setup"),
  ...visitorOf(services, request, origin),
})

const visitorOf = ({ limits }: ServerServices, request: Request, origin: Origin) => ({
  requestId: origin.requestId,
  languages: languagesOf(request.headers.get("accept-language")),
  allowance: limits(origin),
  from: fromOf(request.headers, origin),
})

const inputOf = (values: Values, password: string): SetupInput => ({
  publicUrl: values.publicUrl ?? "",
  organization: values.organization ?? "",
  passwordRules: lengthOnly,
  recoveryCodes: true,
  owner: {
    loginName: values.loginName || (values.email ?? ""),
    email: values.email ?? "",
    firstName: values.firstName ?? "",
    lastName: values.lastName ?? "",
    password,
  },
  serviceKey: undefined,
})

/**
 * Signs the new owner in and opens the console. A browser at another address than the public one
 * has no session there: the root says where to go.
 */
async function enter(
  cx: Cx,
  request: Request,
  { ownerId, publicUrl, browser: origin }: { ownerId: string; publicUrl: string; browser: string },
): Promise<Response> {
  const headers = new Headers({ location: "/", "cache-control": "no-store" })
  if (origin === new URL(publicUrl).origin) {
    const secure = publicUrl.startsWith("https:")
    const browser = await readBrowser(cx, secure, request.headers.get("cookie"))
    const entrance = { userId: ownerId, secure, also: () => undefined }
    headers.set("set-cookie", await enterBrowser<never>(cx, browser, entrance))
    headers.set("location", "/ui/console/")
  }
  return new Response(null, { status: 303, headers })
}

const texts = async (cx: Cx) =>
  (await import("../../../ui/login/index.ts")).translator(cx.languages)

/** Puts a refusal beside the field it is about, in the language of who reads it. */
async function wrongOf(cx: Cx, { id, message }: Fault): Promise<Wrong> {
  const { t } = await texts(cx)
  const password = passwordText[id]
  const wrong = password ? { at: "password", key: password } : fieldText[id]
  if (wrong) {
    const { rulesIn } = await import("../../../ui/login/index.ts")
    return { errors: { [wrong.at]: t(wrong.key, { rules: rulesIn(t, lengthOnly) }) } }
  }
  if (id === "instance.exists") return { error: t("error.set_up_done.happened") }
  return { error: message }
}

const fieldText: Readonly<Record<string, { at: SetupField; key: TextKey }>> = {
  "instance.public_url_invalid": { at: "publicUrl", key: "setup.error.public_url" },
  "request.field_invalid": { at: "organization", key: "setup.error.name" },
  "user.given_name_invalid": { at: "firstName", key: "setup.error.name" },
  "user.family_name_invalid": { at: "lastName", key: "setup.error.name" },
  "user.email_invalid": { at: "email", key: "setup.error.email" },
  "user.username_invalid": { at: "loginName", key: "setup.error.login_name" },
}

type Sent = {
  readonly values: Values
  readonly password: string
  /** The same, sealed, so that the form can be sent again. */
  readonly keptPassword: string | undefined
}

async function fieldsOf({ secrets, clock }: ServerServices, request: Request): Promise<Sent> {
  const form = await formWithin(request, formMax)
  if (form === "other type") {
    throw new Fault("invalid_argument", "request.type_unknown", `the body must be ${formType}`)
  }
  if (typeof form === "string") {
    throw new Fault("resource_exhausted", "request.too_large", "the form is too large")
  }
  const { password: typed = "", keptPassword = "", ...values } = Object.fromEntries(form)
  // What was sealed with another code, or too long ago, is typed anew.
  const about = `setup/password/${values.token}`
  const [kept = "", until = 0] = JSON.parse(secrets.open("cookie", keptPassword, about) ?? "[]")
  const now = clock.now()
  const password = typed || (now < until ? kept : "")
  const sealed = JSON.stringify([password, now + keptMs])
  return {
    values,
    password,
    keptPassword: password === "" ? undefined : secrets.seal("cookie", sealed, about),
  }
}

const keptMs = 15 * 60_000
