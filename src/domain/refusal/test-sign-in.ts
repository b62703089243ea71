import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { app, type OidcApp } from "../app/index.ts"
import { pushRequest, requestUriOf } from "../grant/index.ts"

type TestOptions = { readonly scope: string; readonly chooseAccount: boolean }

/**
 * Stores a test request as the application would send it, for an administrator to run. It has one
 * of the application's redirect URIs, or the first of its SAML metadata, so that all checks apply,
 * but nothing is sent there: see `testedBy`.
 */
export async function startTestSignIn(cx: Cx, appId: string, options: TestOptions) {
  const { caller } = cx
  if (caller.kind !== "user") {
    throw testFailedError(
      "app.test_caller",
      "permission denied: only a user who signs in with a browser can run a test sign-in",
    )
  }
  if (options.scope.length > scopeMax) {
    throw new Fault(
      "invalid_argument",
      "app.test_scope",
      `scope must be at most ${scopeMax} characters`,
    )
  }
  const { clientId, name, search } = createTestRequest(cx, appId, options)
  if (options.chooseAccount) search.set("prompt", "select_account")
  const id = cx.ids.next()
  const pushed = { clientId, search: search.toString(), testedBy: caller.userId }
  await cx.store.transact(cx, (tx) => pushRequest(tx, id, pushed))
  return { clientId: name, requestUri: requestUriOf(cx, id) }
}

const scopeMax = 2000

type TestRequest = {
  /** The client ID; SAML applications use their own ID. */
  readonly clientId: string
  /** The identifier that the application sends. */
  readonly name: string
  readonly search: URLSearchParams
}

function createTestRequest(cx: Cx, appId: string, options: TestOptions): TestRequest {
  const state = cx.store.state(cx, app, appId)
  if ("kind" in state && state.kind === "oidc") {
    const { clientId } = state
    const search = oidcParameters(cx, state, options)
    search.set("client_id", clientId)
    return { clientId, name: clientId, search }
  }
  if ("kind" in state && state.kind === "saml") {
    return { clientId: appId, name: state.saml.entityId, search: new URLSearchParams() }
  }
  throw testFailedError("app.test_kind", "users don't sign in to this application with a browser")
}

/** The parameters of an OpenID Connect request. */
function oidcParameters(cx: Cx, { oidc }: OidcApp, options: TestOptions): URLSearchParams {
  const redirectUri = oidc.redirectUris.find((uri) => !uri.includes("*"))
  if (redirectUri === undefined) {
    throw testFailedError(
      "app.test_address",
      "the application has no redirect URI; register one first",
    )
  }
  const [first = "code"] = oidc.responseTypes
  const isCode = oidc.responseTypes.includes("code")
  const random = () => Buffer.from(cx.random.bytes(32)).toString("base64url")
  return new URLSearchParams({
    redirect_uri: redirectUri,
    response_type: isCode ? "code" : first.replace("id_token_token", "id_token token"),
    scope: options.scope.trim() || "openid profile email",
    nonce: random(),
    // A random challenge: even if a code were issued, it could not be redeemed.
    ...(isCode && { code_challenge: random(), code_challenge_method: "S256" }),
  })
}

const testFailedError = (id: string, message: string) =>
  new Fault("failed_precondition", id, message)
