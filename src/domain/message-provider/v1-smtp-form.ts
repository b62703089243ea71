import type {
  AddEmailProviderSMTPRequest,
  SMTPXOAuth2Auth,
} from "../../gen/core/admin/v1/email_provider_pb.ts"
import { Fault } from "../../kernel/fault.ts"
import type { MailStep } from "../../kernel/port/mail.ts"
import { type MaskedRequest, mergedWith, selectionOf } from "../../protocol/api/mask.ts"
import type { Cx } from "../../store/index.ts"
import { refusedError } from "./check.ts"
import { destinationOf, findProvider, secretOf, type Wish } from "./commands.ts"
import type { Provider, Smtp, SmtpAuth } from "./model.ts"

/** An SMTP server as the requests of the older operations say it. */
export type Plain = {
  readonly senderAddress: string
  readonly senderName: string
  readonly tls: boolean
  readonly host: string
  readonly user: string
  readonly password: string
}

type Optional = { readonly replyToAddress?: string; readonly description?: string }

/** How the server is reached; what is absent stays as it is kept. */
type Reached = {
  readonly implicitTls?: boolean | undefined
  readonly caCertificate?: string | undefined
  readonly privateNetwork?: boolean | undefined
}

type Auth = AddEmailProviderSMTPRequest["Auth"]

/** Reads an SMTP server. Without a word on how it is let in, a user is let in by a password. */
export function wishOf(
  req: Plain & Optional & Reached & { readonly Auth?: Auth },
  kept?: Provider,
): Wish & { settings: Smtp } {
  const { senderAddress, senderName, tls, host, user, replyToAddress = "", description = "" } = req
  const { auth, secret } = authOf(req)
  return {
    settings: {
      kind: "smtp",
      description,
      host,
      tls,
      user,
      senderAddress,
      senderName,
      replyToAddress,
      auth,
      ...reachedOf(req, kept?.kind === "smtp" ? kept : {}),
    },
    ...(secret !== "" && { secret }),
  }
}

function reachedOf(req: Reached, kept: Reached) {
  const { implicitTls = kept.implicitTls, privateNetwork = kept.privateNetwork } = req
  const caCertificate = (req.caCertificate ?? kept.caCertificate ?? "").trim()
  return {
    ...(implicitTls && { implicitTls }),
    ...(caCertificate !== "" && { caCertificate }),
    ...(privateNetwork && { privateNetwork }),
  }
}

/** The provider that a request changes or tries; undefined where it names none. */
export const keptFor = (cx: Cx, id: string): Provider | undefined =>
  id === "" ? undefined : findProvider(cx, "email", id)

/** Changes an SMTP server to what a request says, or to what its mask names of that. */
export const smtpChange = (
  req: Plain & Optional & Reached & MaskedRequest & { readonly Auth?: Auth },
) => ({
  kind: "smtp" as const,
  say: (before: Provider) => wishOf(req.updateMask ? mergedSmtp(req, before) : req, before),
})

function mergedSmtp<Req extends Plain & MaskedRequest>(req: Req, before: Provider): Req {
  if (before.kind !== "smtp") return req
  const password = selectionOf(req)("password") ? req.password : ""
  const stored = { ...before, password: "", Auth: requestedAuth(before.auth, password) }
  return mergedWith(req, stored, { Auth: ["none", "plain", "xoauth2"] })
}

/** How a server lets us in, as a request says it; a secret that is left empty stays. */
function requestedAuth(auth: SmtpAuth, password: string): object {
  if (auth.kind === "none") return { case: "none", value: {} }
  if (auth.kind === "plain") return { case: "plain", value: { password } }
  const { tokenEndpoint, scopes, clientId } = auth
  const by = { case: "clientCredentials", value: { clientId, clientSecret: password } }
  return { case: "xoauth2", value: { tokenEndpoint, scopes: [...scopes], OAuth2Type: by } }
}

function authOf({ Auth: how, user, password }: Plain & { readonly Auth?: Auth }): {
  readonly auth: SmtpAuth
  readonly secret: string
} {
  if (how?.case === "none") return { auth: { kind: "none" }, secret: "" }
  if (how?.case === "xoauth2") return xoauth2Of(how.value)
  const secret = how?.case === "plain" ? how.value.password : password
  const isIn = how?.case === "plain" || user !== ""
  return isIn ? { auth: { kind: "plain" }, secret } : { auth: { kind: "none" }, secret: "" }
}

function xoauth2Of({ tokenEndpoint, scopes, OAuth2Type: by }: SMTPXOAuth2Auth) {
  if (by.case === undefined) {
    throw refusedError("client_credentials", "must say who asks the token endpoint")
  }
  const { clientId, clientSecret: secret } = by.value
  return {
    auth: { kind: "xoauth2", tokenEndpoint, scopes: [...scopes], clientId },
    secret,
  } as const
}

/** A secret that is kept goes only where it went before. */
export function secretFor(cx: Cx, { id, wish }: { id: string; wish: Wish }): string {
  if (wish.secret || id === "") return wish.secret ?? ""
  const kept = findProvider(cx, "email", id)
  return destinationOf(kept) === destinationOf(wish.settings) ? secretOf(cx, id) : ""
}

/** An SMTP server that is kept; refuses what is none. */
export function smtpOf(cx: Cx, id: string): Smtp {
  const found = findProvider(cx, "email", id)
  if (found.kind === "smtp") return found
  throw new Fault(
    "failed_precondition",
    "message_provider.not_smtp",
    "this is a service, and no SMTP server; only those can be tried",
  )
}

export const stepsOf = (steps: readonly MailStep[]) => ({
  steps: steps.map(({ name, detail }) => ({ name, detail })),
})
