import type { SetupField, SetupPageProps, TextKey } from "../../../ui/login/index.ts"
import { enterBrowser, readBrowser } from "../../domain/session/index.ts"
import { firstInstance, type SetupInput, setUp } from "../../domain/setup/index.ts"
import { type FormMax, formType, formWithin } from "../../kernel/body.ts"
import { Fault } from "../../kernel/fault.ts"
import { languagesOf, wantsPage } from "../../kernel/text/accept.ts"
import { type ShowPage, showFault } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import { fromOf, type Origin } from "../caller.ts"
import type { ServerServices } from "../services.ts"
import type { SetupDoor } from "./setup-token.ts"

const formMax: FormMax = { bytes: 16_384, parameters: 50 }

type Values = Partial<Record<SetupField, string>>
type Wrong = Pick<SetupPageProps, "error" | "errors">

/** The pages of a server that nobody owns yet: the way in, and the form behind the link. */
export function setupPages(services: ServerServices, setupToken: SetupDoor, show: ShowPage) {
  const form = { action: "/setup", csrf: "" }

  const page = (cx: Cx, values: Values, wrong: Wrong, status: number) =>
    show(cx, (ui, shared) => ui.SetupPage({ ...shared, form, values, ...wrong }), { status })

  const post = async (cx: Cx, request: Request): Promise<Response> => {
    const { values, password } = await fieldsOf(request)
    if (!(await setupToken.matches(values.token ?? ""))) {
      cx.allowance?.spend("guess")
      const { t } = await texts(cx)
      return page(cx, values, { errors: { token: t("setup.error.token") } }, 403)
    }
    try {
      const publicUrl = (values.publicUrl ?? "").trim().replace(/\/$/, "")
      const { ownerId } = await setUp(cx, inputOf({ ...values, publicUrl }, password))
      setupToken.close()
      services.log.info("the instance was set up at {publicUrl}", { publicUrl })
      return await enter(cx, request, { ownerId, publicUrl })
    } catch (cause) {
      if (!(cause instanceof Fault)) throw cause
      return page(cx, values, await wrongOf(cx, cause), 400)
    }
  }

  /** Answers what browsers ask for; programs get the API's own word. */
  return async (request: Request, origin: Origin): Promise<Response | undefined> => {
    const { pathname, protocol } = new URL(request.url)
    const cx = visitorBefore(services, request, origin)
    if (pathname === "/setup" && request.method === "POST") {
      return post(cx, request).catch((cause) => {
        if (cause instanceof Fault && cause.retryAfterSeconds) return showFault(show, cx, cause)
        throw cause
      })
    }
    if (pathname === "/setup" && wantsPage(request)) {
      return page(cx, { publicUrl: `${protocol}//${origin.host}` }, {}, 200)
    }
    if (!wantsPage(request)) return undefined
    return show(cx, (ui, shared) => ui.SetupLinkPage(shared), { status: 503 })
  }
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
  owner: {
    loginName: values.loginName ?? "",
    email: values.email ?? "",
    firstName: values.firstName ?? "",
    lastName: values.lastName ?? "",
    password,
  },
  serviceKey: undefined,
})

/**
 * Signs the new owner in and opens the console. From another address than the public one the
 * browser's session would not count there, so the root says where to go.
 */
async function enter(
  cx: Cx,
  request: Request,
  { ownerId, publicUrl }: { ownerId: string; publicUrl: string },
): Promise<Response> {
  const headers = new Headers({ location: "/", "cache-control": "no-store" })
  if (new URL(request.url).origin === new URL(publicUrl).origin) {
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
  const wrong = wrongs[id]
  if (wrong) return { errors: { [wrong.at]: t(wrong.key) } }
  if (id === "instance.exists") return { error: t("error.set_up_done.happened") }
  return { error: message }
}

const wrongs: Readonly<Record<string, { at: SetupField | "password"; key: TextKey }>> = {
  "instance.public_url_invalid": { at: "publicUrl", key: "setup.error.public_url" },
  "request.field_invalid": { at: "organization", key: "setup.error.name" },
  "user.given_name_invalid": { at: "firstName", key: "setup.error.name" },
  "user.family_name_invalid": { at: "lastName", key: "setup.error.name" },
  "user.email_invalid": { at: "email", key: "setup.error.email" },
  "user.username_invalid": { at: "loginName", key: "setup.error.login_name" },
  "user.password_too_simple": { at: "password", key: "setup.error.password_simple" },
  "user.password_common": { at: "password", key: "password_change.error.common" },
  "user.password_is_name": { at: "password", key: "password_change.error.name" },
  "password.too_long": { at: "password", key: "password_change.error.long" },
  "password.busy": { at: "password", key: "password.error.busy" },
}

async function fieldsOf(request: Request): Promise<{ values: Values; password: string }> {
  const form = await formWithin(request, formMax)
  if (form === "other type") {
    throw new Fault("invalid_argument", "request.type_unknown", `the body must be ${formType}`)
  }
  if (typeof form === "string") {
    throw new Fault("resource_exhausted", "request.too_large", "the form is too large")
  }
  const { password = "", ...values } = Object.fromEntries(form)
  return { values, password }
}
