import type { SetupField, SetupPageProps, TextKey } from "../../../ui/login/index.ts"
import { publicOriginOf } from "../../domain/instance/index.ts"
import { setupComplexity } from "../../domain/policy/index.ts"
import { enterBrowser, readBrowser } from "../../domain/session/index.ts"
import { firstInstance, type SetupInput, setUp } from "../../domain/setup/index.ts"
import type { RequestOrigin } from "../../http/origin.ts"
import { type Answer, createArea } from "../../http/route.ts"
import type { Visit } from "../../http/visit.ts"
import { Fault } from "../../kernel/fault.ts"
import { passwordText, type ShowPage, showError, showFault } from "../../login/index.ts"
import { parseLanguages, prefersHtml } from "../../protocol/accept.ts"
import { type FormLimits, formType, readForm } from "../../protocol/body.ts"
import { type Network, systemNetwork } from "../../runtime/network.ts"
import type { Cx } from "../../store/index.ts"
import { clientInfoOf } from "../caller.ts"
import type { ServerServices } from "../services.ts"
import { findReachError, reachProofResponse } from "./reach.ts"
import type { SetupAccess } from "./setup-token.ts"

const formMax: FormLimits = { bytes: 16_384, parameters: 50 }

type Values = Partial<Record<SetupField, string>>
type FormErrors = Pick<SetupPageProps, "error" | "errors" | "strayUrl">

type Render = Parameters<ShowPage>[1]
type FilledForm = Pick<SetupPageProps, "values" | "seenUrl" | "keptPassword">

/**
 * The URL of the request, which the form suggests. The scheme is taken from any proxy, because only
 * the owner with the setup code sees it.
 */
function requestUrlOf(request: Request, { host }: RequestOrigin): string {
  const forwarded = request.headers.get("x-forwarded-proto")?.split(",")[0]?.trim()
  const isScheme = forwarded === "https" || forwarded === "http"
  return `${isScheme ? `${forwarded}:` : new URL(request.url).protocol}//${host}`
}

/** An origin in the form that browsers send; undefined for anything else. */
function parseOrigin(text: string | undefined): string | undefined {
  const url = URL.parse(text ?? "")
  return url && /^https?:$/.test(url.protocol) && url.origin === text ? url.origin : undefined
}

/** The form of the setup link and its submission. */
function setupForm(
  services: ServerServices,
  setupToken: SetupAccess,
  show: ShowPage,
  send: Network["send"],
) {
  const target = { action: "/setup", csrf: "" }

  const page = (
    cx: Cx,
    formState: FilledForm,
    { status, ...wrong }: FormErrors & { readonly status: number },
  ) => {
    const rules = { rules: setupComplexity, ...formState }
    const render: Render = (ui, shared) =>
      ui.SetupPage({ ...shared, form: target, ...rules, ...wrong })
    return show(cx, render, { status })
  }

  const post = async (cx: Cx, request: Request, seenUrl: string): Promise<Response> => {
    const { values, password, keptPassword } = await readSetupForm(services, request)
    const formState = { values, seenUrl, keptPassword }
    const { t } = await texts(cx)
    if (!(await setupToken.matches(values.token ?? ""))) {
      cx.allowance?.spend("guess")
      return page(cx, formState, { errors: { token: t("setup.error.token") }, status: 403 })
    }
    const browser = parseOrigin(values.browserOrigin) ?? seenUrl
    try {
      const publicUrl = publicOriginOf((values.publicUrl ?? "").trim())
      // The browser has just received a response from this URL.
      const isProven = publicUrl === browser || publicUrl === values.keptUrl
      const stray = isProven ? undefined : await findReachError(services, publicUrl, send)
      if (stray !== undefined) {
        const urlDetails = { address: publicUrl, browser, reason: stray }
        const errors = { publicUrl: t("setup.error.public_url_other", urlDetails) }
        return await page(cx, formState, { errors, strayUrl: publicUrl, status: 400 })
      }
      const { ownerId } = await setUp(cx, setupInputOf({ ...values, publicUrl }, password))
      setupToken.close()
      services.log.info("the instance was set up at {publicUrl}", { publicUrl })
      return await signInOwner(cx, request, { ownerId, publicUrl, browser })
    } catch (cause) {
      if (!(cause instanceof Fault)) throw cause
      const wrong = await toFormErrors(cx, cause)
      // A rejected password must be entered again.
      const reusablePassword = wrong.errors?.password ? undefined : keptPassword
      return page(cx, { ...formState, keptPassword: reusablePassword }, { ...wrong, status: 400 })
    }
  }

  return { page, post }
}

/** The routes of the setup form, and the proof that a URL leads to this server. */
export function setupRoutes(
  services: ServerServices,
  setupToken: SetupAccess,
  show: ShowPage,
  send = systemNetwork.send,
) {
  const { page, post } = setupForm(services, setupToken, show, send)
  const form = async ({ request }: Visit, origin: RequestOrigin): Promise<Response | undefined> => {
    const cx = createSetupCall(services, request, origin)
    const seenUrl = requestUrlOf(request, origin)
    if (request.method === "POST") {
      return post(cx, request, seenUrl).catch((cause) => {
        if (cause instanceof Fault && cause.retryAfterSeconds) return showFault(show, cx, cause)
        throw cause
      })
    }
    if (!prefersHtml(request)) return undefined
    return page(cx, { values: { publicUrl: seenUrl }, seenUrl }, { status: 200 })
  }
  return createArea("other", {
    "/setup": {
      beforeSetup: form,
      answer: ({ request, cx }) =>
        prefersHtml(request) ? showSetupCompleted(show, cx) : undefined,
    },
    "/setup/reached/*": {
      beforeSetup: ({ url }) => reachProofResponse(services, url.pathname),
    },
  })
}

const showSetupCompleted = (show: ShowPage, cx: Cx) =>
  showError(show, cx, { problem: "set_up_done", status: 404, startHref: "/ui/console/" })

/** The response of all other paths before the setup; programs receive an API error. */
export function setupLinkPage(
  services: ServerServices,
  show: ShowPage,
  { request, origin }: Visit & { readonly origin: RequestOrigin },
): Answer {
  if (!prefersHtml(request)) return undefined
  const cx = createSetupCall(services, request, origin)
  return show(cx, (ui, shared) => ui.SetupLinkPage(shared), { status: 503 })
}

/** A call before there is an instance. */
export const createSetupCall = (
  services: ServerServices,
  request: Request,
  origin: RequestOrigin,
): Cx => ({
  ...services.call(firstInstance, "setup"),
  ...createVisitor(services, request, origin),
})

const createVisitor = ({ limits }: ServerServices, request: Request, origin: RequestOrigin) => ({
  requestId: origin.requestId,
  languages: parseLanguages(request.headers.get("accept-language")),
  allowance: limits(origin),
  from: clientInfoOf(request.headers, origin),
})

const setupInputOf = (values: Values, password: string): SetupInput => ({
  publicUrl: values.publicUrl ?? "",
  organization: values.organization ?? "",
  passwordRules: setupComplexity,
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
 * Signs in the new owner and opens the console. Under another URL than the public one, the browser
 * has no session, so it is sent to the root.
 */
async function signInOwner(
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

/** Assigns a fault to its form field, in the language of the user. */
async function toFormErrors(cx: Cx, { id, message }: Fault): Promise<FormErrors> {
  const { t } = await texts(cx)
  const password = passwordText[id]
  const wrong = password ? { at: "password", key: password } : fieldTexts[id]
  if (wrong) {
    const { formatRules } = await import("../../../ui/login/index.ts")
    return { errors: { [wrong.at]: t(wrong.key, { rules: formatRules(t, setupComplexity) }) } }
  }
  if (id === "instance.exists") return { error: t("error.set_up_done.happened") }
  return { error: message }
}

const fieldTexts: Readonly<Record<string, { at: SetupField; key: TextKey }>> = {
  "instance.public_url_invalid": { at: "publicUrl", key: "setup.error.public_url" },
  "request.field_invalid": { at: "organization", key: "setup.error.name" },
  "user.given_name_invalid": { at: "firstName", key: "setup.error.name" },
  "user.family_name_invalid": { at: "lastName", key: "setup.error.name" },
  "user.email_invalid": { at: "email", key: "setup.error.email" },
  "user.username_invalid": { at: "loginName", key: "setup.error.login_name" },
}

type SubmittedForm = {
  readonly values: Values
  readonly password: string
  /** The sealed password, so that the form can be sent again. */
  readonly keptPassword: string | undefined
}

async function readSetupForm(
  { secrets, clock }: ServerServices,
  request: Request,
): Promise<SubmittedForm> {
  const form = await readForm(request, formMax)
  if (form === "other type") {
    throw new Fault("invalid_argument", "request.type_unknown", `the body must be ${formType}`)
  }
  if (typeof form === "string") {
    throw new Fault("resource_exhausted", "request.too_large", "the form is too large")
  }
  const { password: typed = "", keptPassword = "", ...values } = Object.fromEntries(form)
  // A password that was sealed too long ago, or with another code, must be entered again.
  const about = `setup/password/${values.token}`
  const [reusablePassword = "", until = 0] = JSON.parse(
    secrets.open("cookie", keptPassword, about) ?? "[]",
  )
  const now = clock.now()
  const password = typed || (now < until ? reusablePassword : "")
  const sealed = JSON.stringify([password, now + passwordKeptMs])
  return {
    values,
    password,
    keptPassword: password === "" ? undefined : secrets.seal("cookie", sealed, about),
  }
}

const passwordKeptMs = 15 * 60_000
