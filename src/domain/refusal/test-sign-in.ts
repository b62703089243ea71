import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { app, type OidcApp } from "../app/index.ts"
import { pushRequest, requestUri } from "../grant/index.ts"

type Wanted = { readonly scope: string; readonly chooseAccount: boolean }

/**
 * Keeps a request as an application would send it, for its administrator to come with. It names one
 * of the application's own redirect URIs, or the first of its metadata, so that it is judged like
 * any other, but nothing is ever sent there: see `testedBy`.
 */
export async function startTestSignIn(cx: Cx, appId: string, wanted: Wanted) {
  const { caller } = cx
  if (caller.kind !== "user") {
    throw testFailedError(
      "app.test_caller",
      "a test is tried out by a user, who signs in to a browser",
    )
  }
  if (wanted.scope.length > scopeMax) {
    throw new Fault("invalid_argument", "app.test_scope", `scope: at most ${scopeMax} characters`)
  }
  const { clientId, name, search } = requestOf(cx, appId, wanted)
  if (wanted.chooseAccount) search.set("prompt", "select_account")
  const id = cx.ids.next()
  const pushed = { clientId, search: search.toString(), testedBy: caller.userId }
  await cx.store.transact(cx, (tx) => pushRequest(tx, id, pushed))
  return { clientId: name, requestUri: requestUri(cx, id) }
}

const scopeMax = 2000

type Request = {
  /** Whose it is; what speaks SAML has no client id, and goes by its own. */
  readonly clientId: string
  /** What the application calls itself where it asks. */
  readonly name: string
  readonly search: URLSearchParams
}

function requestOf(cx: Cx, appId: string, wanted: Wanted): Request {
  const state = cx.store.state(cx, app, appId)
  if ("kind" in state && state.kind === "oidc") {
    const { clientId } = state
    const search = oidcSearch(cx, state, wanted)
    search.set("client_id", clientId)
    return { clientId, name: clientId, search }
  }
  if ("kind" in state && state.kind === "saml") {
    return { clientId: appId, name: state.saml.entityId, search: new URLSearchParams() }
  }
  throw testFailedError("app.test_kind", "nobody signs in to this application by a browser")
}

/** As the application itself would ask. */
function oidcSearch(cx: Cx, { oidc }: OidcApp, wanted: Wanted): URLSearchParams {
  const redirectUri = oidc.redirectUris.find((uri) => !uri.includes("*"))
  if (redirectUri === undefined) {
    throw testFailedError(
      "app.test_address",
      "the application has no redirect URI: register the first",
    )
  }
  const [first = "code"] = oidc.responseTypes
  const isCode = oidc.responseTypes.includes("code")
  const random = () => Buffer.from(cx.random.bytes(32)).toString("base64url")
  return new URLSearchParams({
    redirect_uri: redirectUri,
    response_type: isCode ? "code" : first.replace("id_token_token", "id_token token"),
    scope: wanted.scope.trim() || "openid profile email",
    nonce: random(),
    // Of a verifier that nobody knows: a code that came all the same could not be redeemed.
    ...(isCode && { code_challenge: random(), code_challenge_method: "S256" }),
  })
}

const testFailedError = (id: string, message: string) =>
  new Fault("failed_precondition", id, message)
