import { addAuthRequest } from "../../domain/grant/index.ts"
import { csrfTokenOf } from "../../domain/session/index.ts"
import {
  type BrowserContext,
  continuePath,
  isOwnForm,
  loadBrowserContext,
  pageStateFor,
  showForeignForm,
  showNoCookies,
} from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import { authorizationRequestOf, findPendingDevice, type PendingDevice } from "../device/pending.ts"
import { formatUserCode, parseUserCode } from "../device/user-code.ts"
import { paths } from "../issuer.ts"
import { parseParameters } from "../parameters.ts"
import { redirect } from "../response.ts"
import type { Endpoint, EndpointContext } from "./endpoint.ts"

/** RFC 8628 §3.3: where the user enters the code from the device. */
export const device: Endpoint = {
  methods: ["GET", "POST"],
  anyOrigin: false,
  handle: async (context) => {
    const { cx, request, url, show } = context
    const browserContext = await loadBrowserContext(cx, request)
    const page = { cx, show, request, browserContext }
    if (request.method !== "POST") {
      const cookieless = showNoCookies(page)
      if (cookieless !== undefined) return cookieless
      const typed = parseParameters(url.searchParams).get("user_code") ?? ""
      const state = wrongCodeState.of({ cx, request, browserContext })
      return showCodePage(context, browserContext, state ? { ...state, isWrong: true } : { typed })
    }
    const form = parseParameters(await context.form())
    if (!isOwnForm(cx, browserContext, { request, csrf: form.get("csrf") ?? "" })) {
      return showForeignForm(page, paths.device)
    }
    const typed = form.get("userCode") ?? ""
    // RFC 8628 §5.1: the code is short, so attempts are limited.
    cx.allowance?.spend("guess")
    const found = findPendingDevice(cx, typed)
    if (!found)
      return wrongCodeState.next({ cx, request, browserContext }, { typed: truncate(typed) })
    cx.allowance?.refund("guess")
    const requestId = await beginSignIn(cx, browserContext, found)
    return redirect(continuePath(requestId), browserContext.browser.setCookie)
  },
}

/**
 * Continues as a normal sign-in that ends on our own page. The user is always asked for consent,
 * because the sender of the code may control the device (RFC 8628 §5.4).
 */
async function beginSignIn(cx: Cx, { browser }: BrowserContext, device: PendingDevice) {
  const id = cx.ids.next()
  const asked = authorizationRequestOf(cx, device)
  cx.allowance?.spend("request")
  await cx.store.transact(cx, (tx) =>
    addAuthRequest(tx, id, { agentId: browser.id, asked, loginHint: "" }),
  )
  return { id, asked }
}

const wrongCodeState = pageStateFor<{ readonly typed: string }>(paths.device)

/** Truncated to the length of a code. */
const truncate = (typed: string): string => typed.slice(0, 20)

type CodePageOptions = { readonly typed: string; readonly isWrong?: boolean }

function showCodePage(
  { cx, show }: EndpointContext,
  browserContext: BrowserContext,
  { typed, isWrong = false }: CodePageOptions,
) {
  const form = { action: paths.device, csrf: csrfTokenOf(cx, browserContext.browser) }
  const userCode = parseUserCode(typed)
  const displayedCode = userCode ? formatUserCode(userCode) : truncate(typed)
  return show(
    cx,
    (ui, shared) => {
      const error = isWrong ? shared.t("device.error.wrong") : undefined
      return ui.DevicePage({ ...shared, form, userCode: displayedCode, error })
    },
    { status: isWrong ? 422 : 200, cookies: [browserContext.browser.setCookie] },
  )
}
