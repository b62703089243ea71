import { createHash } from "node:crypto"
import { proxiedCallback } from "../../domain/app/index.ts"
import { cookieIn } from "../../domain/session/index.ts"
import type { Cx } from "../../store/index.ts"
import { issuerOf, paths } from "../issuer.ts"
import { redirect } from "../response.ts"
import { cookieFor, nameFor } from "./pass.ts"
import type { Proxied } from "./proxied.ts"

// The protected host is a client of ours like any other: a code with PKCE (RFC 7636). Its verifier
// is made of a secret that only this browser has, and of the state, so that a way that somebody
// else began leads to nothing here, and several tabs may be on theirs at once.

/** How long a person has to sign in. */
const waySeconds = 3600

/** What is longer is not come back to. */
const targetMax = 2000

type Asked = {
  /** Where the person goes in the end, at the same host. */
  readonly target: string
  /** Whether they are asked who they are, though somebody is signed in. */
  readonly chooses?: boolean
}

/** Sends the browser to the sign-in. */
export function beginWay(cx: Cx, at: Proxied, header: string | null, asked: Asked): Response {
  const known = cookieIn(header ?? "", nameFor(at, "-way"))
  const secret = wellFormed.test(known)
    ? known
    : Buffer.from(cx.random.bytes(32)).toString("base64url")
  const target = asked.target.length > targetMax ? "/" : asked.target
  const expires = cx.clock.now() + waySeconds * 1000
  const state = cx.secrets.seal("cookie", JSON.stringify([target, expires]), aboutOf(cx, at))
  const query = new URLSearchParams({
    client_id: at.clientId,
    redirect_uri: at.origin + proxiedCallback,
    response_type: "code",
    scope: "openid profile email",
    state,
    code_challenge: createHash("sha256").update(verifierOf(secret, state)).digest("base64url"),
    code_challenge_method: "S256",
    ...(asked.chooses && { prompt: "select_account" }),
  })
  const { issuer } = issuerOf(cx)
  return redirect(`${issuer}${paths.authorize}?${query}`, cookieFor(at, "-way", secret, waySeconds))
}

const wellFormed = /^[\w-]{43}$/

/** What a browser that comes back had set out for; undefined for no way of ours, or another's. */
export function wayBack(
  cx: Cx,
  at: Proxied,
  { state, header }: { readonly state: string; readonly header: string | null },
): { readonly target: string; readonly verifier: string } | undefined {
  const secret = cookieIn(header ?? "", nameFor(at, "-way"))
  const plain = cx.secrets.open("cookie", state, aboutOf(cx, at))
  if (plain === undefined || !wellFormed.test(secret)) return undefined
  const [target, expires] = JSON.parse(plain)
  if (cx.clock.now() >= expires) return undefined
  return { target, verifier: verifierOf(secret, state) }
}

const verifierOf = (secret: string, state: string): string =>
  createHash("sha256").update(`${secret}.${state}`).digest("base64url")

const aboutOf = (cx: Cx, { clientId, origin }: Proxied) =>
  `forward_auth/way/${cx.instance}/${clientId}/${origin}`
