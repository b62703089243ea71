import type { AuthorizationRequest } from "../../domain/grant/index.ts"
import { type BrowserContext, type ShowPage, showContinue } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import { issuerOf } from "../issuer.ts"
import { redirect } from "../response.ts"
import { showTestError } from "./sign-in-test.ts"
import { isUnapprovedRedirect, showUnapprovedRedirect } from "./unapproved-redirect.ts"

type ResponseTarget = Pick<
  AuthorizationRequest,
  "appId" | "clientId" | "redirectUri" | "responseMode" | "device" | "testedBy"
> & {
  readonly state?: string | undefined
}

export type AuthorizationResponse = {
  readonly back: ResponseTarget
  readonly fields: Readonly<Record<string, string>>
  readonly application: string
  /** The sessions in the browser; they affect only error responses. */
  readonly here?: BrowserContext["present"]
  /** Whether a hidden frame waits for the response; see `isSilent`. */
  readonly isSilent?: boolean
  /** Set-Cookie headers. */
  readonly cookies: readonly (string | undefined)[]
  /** Whether one of our forms may have led here: then a page redirects the browser. */
  readonly isAfterForm?: boolean
}

/**
 * Sends a response of the authorization endpoint to the client, in its response mode. An error for
 * an unapproved application is sent only if the user agrees.
 */
export async function sendResponse(
  cx: Cx,
  show: ShowPage,
  answer: AuthorizationResponse,
): Promise<Response> {
  const { back, application, cookies } = answer
  if (back.device) return showDeviceDone(cx, show, answer)
  if (back.testedBy !== undefined) return showTestError(cx, show, testErrorOf(answer))
  const fields = responseParameters(cx, back, answer.fields)
  const uri = back.redirectUri
  const isError = fields.error !== undefined
  const isAsked = isError && answer.isSilent !== true
  if (isAsked && isUnapprovedRedirect(cx, { appId: back.appId, uri, present: answer.here ?? [] })) {
    const isPosted = back.responseMode === "form_post"
    const redirectOptions = isPosted
      ? { href: uri, fields }
      : { href: appendParameters(back, fields) }
    return showUnapprovedRedirect(cx, show, {
      ...redirectOptions,
      why: "answer",
      application,
      cookies,
    })
  }
  if (back.responseMode === "form_post") {
    return postResponse(cx, show, { redirectUri: back.redirectUri, fields, application, cookies })
  }
  const href = appendParameters(back, fields)
  if (!answer.isAfterForm) return redirect(href, ...cookies)
  const why = isError ? "refused" : "signed_in"
  return showContinue(show, cx, { href, application, why, cookies })
}

type FormPostOptions = Pick<AuthorizationResponse, "fields" | "application"> & {
  readonly redirectUri: string
  readonly cookies?: AuthorizationResponse["cookies"]
}

/** OAuth 2.0 Form Post Response Mode: a page that makes the browser post the response. */
export const postResponse = (
  cx: Cx,
  show: ShowPage,
  { redirectUri, fields, application, cookies = [] }: FormPostOptions,
): Promise<Response> =>
  show(
    cx,
    (ui, shared) => {
      const isError = fields.error !== undefined
      return ui.FormPostPage({ ...shared, action: redirectUri, fields, application, isError })
    },
    { postsElsewhere: true, cookies },
  )

/**
 * All parameters of a response. RFC 9207 §2: each one contains the issuer, to prevent mix-up
 * attacks.
 */
export const responseParameters = (
  cx: Cx,
  { state }: Pick<ResponseTarget, "state">,
  fields: AuthorizationResponse["fields"],
): AuthorizationResponse["fields"] => ({
  ...fields,
  ...(state !== undefined && { state }),
  iss: issuerOf(cx).issuer,
})

/** The error of a test; its success has a page of its own, see `showTestResult`. */
function testErrorOf({ back, cookies, fields }: AuthorizationResponse) {
  const { error, error_description: description = "" } = fields
  if (error === undefined) throw new Error("a test ends with a page only")
  return { clientId: back.clientId, cookies, refusal: { error, description } }
}

/** RFC 8628 §3.3: the device polls for its tokens; the user sees that it is approved. */
function showDeviceDone(cx: Cx, show: ShowPage, answer: AuthorizationResponse): Promise<Response> {
  const { application, cookies, fields } = answer
  const isAllowed = fields.error === undefined
  return show(cx, (ui, shared) => ui.DeviceDonePage({ ...shared, application, isAllowed }), {
    cookies,
  })
}

/** RFC 6749 §3.1.2: an existing query of the redirect URI is kept. */
export function appendParameters(
  { redirectUri, responseMode }: Pick<ResponseTarget, "redirectUri" | "responseMode">,
  fields: AuthorizationResponse["fields"],
): string {
  const text = new URLSearchParams(fields).toString()
  if (responseMode === "fragment") return `${redirectUri}#${text}`
  return `${redirectUri}${redirectUri.includes("?") ? "&" : "?"}${text}`
}
