import { createHash } from "node:crypto"
import { decodeJwt, decodeProtectedHeader } from "jose"
import { authRequest, grant, offlineUntil, requestLifetimes } from "../../domain/grant/index.ts"
import { type Finding, findingOfAddress } from "../../domain/refusal/index.ts"
import { serviceUserKey } from "../../domain/user/index.ts"
import type { Cx } from "../../store/index.ts"
import { expected } from "../client/assertion.ts"
import { readCode } from "../code.ts"
import { ownOf } from "../own.ts"
import { readRefreshToken } from "../token/refresh.ts"
import type { Refused } from "./explain.ts"

/** What is wrong with what a request brings to the token endpoint. */
export async function grantFindings(
  cx: Cx,
  { sent }: Refused,
  clientId: string,
): Promise<readonly Finding[]> {
  const [code, token, assertion] = ["code", "refresh_token", "assertion"].map((name) =>
    sent.get(name),
  )
  if (code) return codeFindings(cx, { code, sent, clientId })
  if (token) return refreshFindings(cx, token, clientId)
  return assertion ? assertionFindings(cx, assertion, clientId) : []
}

/** Says something of a value that must not be shown. */
const about = (subject: string, likelyCause: string): Finding => ({
  ...{ subject, received: "", expected: [], likelyCause },
})

type Redeemed = {
  readonly code: string
  readonly sent: URLSearchParams
  readonly clientId: string
}

function codeFindings(cx: Cx, { code, sent, clientId }: Redeemed): readonly Finding[] {
  const id = readCode(cx, code)
  if (id === undefined) return [about("code", "This is no code of ours: is it cut off or encoded?")]
  const state = cx.store.state(cx, authRequest, id)
  if (state.status === "absent" || state.status === "failed") {
    return [about("code", "The code is long over.")]
  }
  if (state.asked.clientId !== clientId) {
    return [about("code", "The code was given to another client.")]
  }
  if (state.status === "exchanged") {
    return [about("code", "The code was used before: does the application send it twice?")]
  }
  if (state.status === "answered" && cx.clock.now() >= state.codeAt + requestLifetimes.code) {
    const seconds = requestLifetimes.code / 1000
    return [about("code", `The code was older than ${seconds} s: is something slow in between?`)]
  }
  const { redirectUri, challenge } = state.asked
  const uri = sent.get("redirect_uri") ?? ""
  const address = uri === redirectUri ? [] : [findingOfAddress("redirect_uri", uri, [redirectUri])]
  return [...address, ...verifierFindings(challenge, sent.get("code_verifier"))]
}

/** RFC 7636 §4.6: a hash may be shown, what it is made of may not. */
function verifierFindings(challenge: string | undefined, verifier: string | null) {
  const subject = "code_verifier"
  if (challenge === undefined && verifier === null) return []
  if (challenge === undefined) {
    return [about(subject, "There was no code_challenge at the authorization endpoint.")]
  }
  if (verifier === null) return [about(subject, "It is missing, and there was a code_challenge.")]
  const received = createHash("sha256").update(verifier).digest("base64url")
  if (received === challenge) return []
  const likelyCause =
    verifier === challenge
      ? "The code_challenge was sent, instead of the verifier that it was made of."
      : "It is not the one that the code_challenge was made of: is a session mixed up?"
  return [{ subject: `SHA-256 of ${subject}`, received, expected: [challenge], likelyCause }]
}

function refreshFindings(cx: Cx, token: string, clientId: string): readonly Finding[] {
  const subject = "refresh_token"
  const read = readRefreshToken(cx, token)
  if (!read) return [about(subject, "This is no refresh token of ours: is it cut off or encoded?")]
  const given = cx.store.state(cx, grant, read.grantId)
  if (given.status === "absent") return [about(subject, "It is long over.")]
  if (given.clientId !== clientId) return [about(subject, "It was given to another client.")]
  if (given.status === "ended") {
    return [about(subject, "It was revoked, or an older one was used again after it was replaced.")]
  }
  const { offline } = given
  if (offline && cx.clock.now() >= offlineUntil(offline)) {
    return [about(subject, "It has expired: nobody used it for too long, or it is too old.")]
  }
  return [about(subject, "The person, or what it hangs from, may not sign in any more.")]
}

/**
 * RFC 7523 §3: what the assertion of a service user says, beside what it must say. Where a request
 * names an application as well, its owner would learn which keys somebody else's users have.
 */
async function assertionFindings(
  cx: Cx,
  text: string,
  clientId: string,
): Promise<readonly Finding[]> {
  const parts = await expected(() => ({ ...decodeProtectedHeader(text), ...decodeJwt(text) }))
  if (!parts) return [about("assertion", "This is no JWT.")]
  // Nobody has signed this yet: types say texts and numbers, but it may be anything.
  const said: Readonly<Record<string, unknown>> = parts
  const [iss, sub, kid] = [textOf(said.iss), textOf(said.sub), textOf(said.kid)]
  if (clientId !== "" && clientId !== iss) return []
  const [exp, iat] = [numberOf(said.exp), numberOf(said.iat)]
  const now = Math.floor(cx.clock.now() / 1000)
  const key = serviceUserKey(cx, iss, kid)
  const names = (Array.isArray(said.aud) ? said.aud : [said.aud]).map(textOf)
  const { issuer } = ownOf(cx)
  const wrong: readonly (Finding | false)[] = [
    iss !== sub && finding("sub", sub, [iss]),
    !key && {
      ...finding("kid", kid, []),
      likelyCause: "The user that iss names has no key with this id (any more).",
    },
    !names.some((name) => name.startsWith(issuer)) && finding("aud", names.join(" "), [issuer]),
    exp <= now && finding("exp", `${now - exp} s ago`, ["in the future"]),
    iat > now + 1 && {
      ...finding("iat", `${iat - now} s ahead`, ["not in the future"]),
      likelyCause: "The clock of the sender is wrong.",
    },
  ]
  const found = wrong.filter((each) => each !== false)
  if (found.length > 0) return found
  return [about("assertion", "It is older than an hour, was used before, or is signed otherwise.")]
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")
const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0)

const finding = (subject: string, received: string, wanted: readonly string[]): Finding => ({
  ...{ subject, received, expected: wanted },
})
