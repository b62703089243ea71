import { findClient } from "../../domain/app/index.ts"
import { about, because, type Finding } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import { isTooDeep, userIdType } from "../grant/token-exchange.ts"
import { paths } from "../own.ts"
import { isRevoked } from "../token/anchor.ts"
import { stands } from "../token/chain.ts"
import { mayActAs } from "../token/impersonation.ts"
import { type Presented, presentedIn } from "../token/presented.ts"
import { type Shown, shownIn, tokenTypes } from "../token/shown.ts"
import { readToken } from "../token/statement.ts"
import type { Refused } from "./explain.ts"

/** The access token that a request to userinfo brings, in its header or its form. */
export function presentedBy({ path, sent, authorization }: Refused): Presented | undefined {
  if (path !== paths.userinfo) return undefined
  const posted = sent.get("access_token")
  return presentedIn(authorization) ?? (posted ? { scheme: "bearer", token: posted } : undefined)
}

/** What became of the tokens that a request shows; never the tokens. */
export function tokenFindings(cx: Cx, refused: Refused, clientId: string): readonly Finding[] {
  const presented = presentedBy(refused)
  if (presented) return presentedFindings(cx, presented)
  // Whoever has not proved to be the client is told nothing of what it found.
  if (refused.error === "invalid_client") return []
  if (refused.path === paths.revocation) return revocationFindings(refused, clientId)
  return refused.sent.get("subject_token") ? exchangeFindings(cx, refused, clientId) : []
}

function presentedFindings(cx: Cx, { scheme, token }: Presented): readonly Finding[] {
  const subject = "access token"
  const ended = endOf(cx, subject, token)
  if (ended.length > 0) return ended
  const isBound = readToken(cx, token)?.jkt !== undefined
  if (isBound === (scheme === "dpop")) return []
  return [about(subject, isBound ? "token.bound" : "token.unbound")]
}

/** Why an access token is worth nothing; empty where it is worth something. */
function endOf(cx: Cx, subject: string, token: string): readonly Finding[] {
  const said = readToken(cx, token)
  if (!said) return [about(subject, "token.not_ours")]
  if (isRevoked(cx, said.id)) return [about(subject, "token.revoked")]
  return stands(cx, said) ? [] : [about(subject, "token.ended")]
}

/** RFC 7009 §2.1. */
function revocationFindings({ error }: Refused, clientId: string): readonly Finding[] {
  const isForeign = error === "invalid_grant" && clientId !== ""
  return isForeign ? [about("token", "refresh.other_client")] : []
}

/** RFC 8693 §2.1: what is wrong with either token, and whether one may act for the other. */
function exchangeFindings(cx: Cx, { sent }: Refused, clientId: string): readonly Finding[] {
  const [subject, actor] = (["subject_token", "actor_token"] as const).map((name) => {
    const token = sent.get(name)
    return token
      ? shownBy(cx, { name, token, type: sent.get(`${name}_type`), clientId })
      : undefined
  })
  const found = [...(subject?.findings ?? []), ...(actor?.findings ?? [])]
  if (found.length > 0 || !actor?.shown) return found
  const userId = subject?.shown?.userId ?? sent.get("subject_token") ?? ""
  return mayActAs(cx, actor.shown.userId, userId) ? [] : [about("actor_token", "actor.may_not")]
}

type Given = {
  readonly name: string
  readonly token: string
  readonly type: string | null
  readonly clientId: string
}

type Found = { readonly findings: readonly Finding[]; readonly shown?: Shown | undefined }

function shownBy(cx: Cx, { name, token, type, clientId }: Given): Found {
  const known = [...Object.values(tokenTypes), ...(name === "subject_token" ? [userIdType] : [])]
  if (!known.some((each) => each === type)) {
    const subject = `${name}_type`
    const cause = because(subject, "value.unknown")
    return { findings: [{ subject, received: type ?? "", expected: known, ...cause }] }
  }
  if (type === userIdType) return { findings: [] }
  const shown = shownIn(cx, token, type ?? "")
  if (!shown) {
    const ended = type === tokenTypes.idToken ? [] : endOf(cx, name, token)
    return { findings: ended.length > 0 ? ended : [about(name, "token.not_ours")] }
  }
  const fitting = [clientId, findClient(cx, clientId)?.state.projectId ?? ""]
  if (isTooDeep(cx, shown)) return { findings: [about(name, "token.exchanged")] }
  const isFor = shown.clientId === clientId || shown.audience.some((id) => fitting.includes(id))
  if (isFor) return { findings: [], shown }
  const subject = `aud of ${name}`
  const cause = because(subject, "token.audience")
  const received = shown.audience.join(" ")
  return { findings: [{ subject, received, expected: fitting, ...cause }] }
}
