import type {
  AddEmailProviderSMTPRequest,
  SMTPXOAuth2Auth,
} from "../../gen/core/admin/v1/email_provider_pb.ts"
import { Fault } from "../../kernel/fault.ts"
import type { MailStep } from "../../kernel/port/mail.ts"
import { createSelection, type MaskedRequest, mergeWithStored } from "../../protocol/api/mask.ts"
import type { Cx } from "../../store/index.ts"
import { invalidFieldError } from "./check.ts"
import { destinationOf, findProvider, type ProviderInput, secretOf } from "./commands.ts"
import type { Provider, Smtp, SmtpAuth } from "./model.ts"

/** The fields of an SMTP server in requests of the older operations. */
export type SmtpFields = {
  readonly senderAddress: string
  readonly senderName: string
  readonly tls: boolean
  readonly host: string
  readonly user: string
  readonly password: string
}

type OptionalFields = { readonly replyToAddress?: string; readonly description?: string }

/** Connection settings; absent ones keep their values. */
type ConnectionFields = {
  readonly implicitTls?: boolean | undefined
  readonly caCertificate?: string | undefined
  readonly privateNetwork?: boolean | undefined
}

type Auth = AddEmailProviderSMTPRequest["Auth"]

/**
 * The input for an SMTP server. If the request has no authentication method, a user authenticates
 * with a password.
 */
export function inputOf(
  req: SmtpFields & OptionalFields & ConnectionFields & { readonly Auth?: Auth },
  current?: Provider,
): ProviderInput & { settings: Smtp } {
  const { senderAddress, senderName, tls, host, user, replyToAddress = "", description = "" } = req
  const { auth, secret } = parseAuth(req)
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
      ...connectionOf(req, current?.kind === "smtp" ? current : {}),
    },
    ...(secret !== "" && { secret }),
  }
}

function connectionOf(req: ConnectionFields, current: ConnectionFields) {
  const { implicitTls = current.implicitTls, privateNetwork = current.privateNetwork } = req
  const caCertificate = (req.caCertificate ?? current.caCertificate ?? "").trim()
  return {
    ...(implicitTls && { implicitTls }),
    ...(caCertificate !== "" && { caCertificate }),
    ...(privateNetwork && { privateNetwork }),
  }
}

/** The provider that a request updates or tests; undefined if it names none. */
export const storedProvider = (cx: Cx, id: string): Provider | undefined =>
  id === "" ? undefined : findProvider(cx, "email", id)

/** The input for updating an SMTP server with a request, limited by its mask. */
export const smtpChange = (
  req: SmtpFields & OptionalFields & ConnectionFields & MaskedRequest & { readonly Auth?: Auth },
) => ({
  kind: "smtp" as const,
  say: (before: Provider) => inputOf(req.updateMask ? applyMask(req, before) : req, before),
})

function applyMask<Req extends SmtpFields & MaskedRequest>(req: Req, before: Provider): Req {
  if (before.kind !== "smtp") return req
  const password = createSelection(req)("password") ? req.password : ""
  const stored = { ...before, password: "", Auth: authFields(before.auth, password) }
  return mergeWithStored(req, stored, { Auth: ["none", "plain", "xoauth2"] })
}

/** The stored authentication method in the form of a request; an empty secret is kept. */
function authFields(auth: SmtpAuth, password: string): object {
  if (auth.kind === "none") return { case: "none", value: {} }
  if (auth.kind === "plain") return { case: "plain", value: { password } }
  const { tokenEndpoint, scopes, clientId } = auth
  const by = { case: "clientCredentials", value: { clientId, clientSecret: password } }
  return { case: "xoauth2", value: { tokenEndpoint, scopes: [...scopes], OAuth2Type: by } }
}

function parseAuth({ Auth: method, user, password }: SmtpFields & { readonly Auth?: Auth }): {
  readonly auth: SmtpAuth
  readonly secret: string
} {
  if (method?.case === "none") return { auth: { kind: "none" }, secret: "" }
  if (method?.case === "xoauth2") return parseXoauth2(method.value)
  const secret = method?.case === "plain" ? method.value.password : password
  const isIn = method?.case === "plain" || user !== ""
  return isIn ? { auth: { kind: "plain" }, secret } : { auth: { kind: "none" }, secret: "" }
}

function parseXoauth2({ tokenEndpoint, scopes, OAuth2Type: by }: SMTPXOAuth2Auth) {
  if (by.case === undefined) {
    throw invalidFieldError(
      "client_credentials",
      "client credentials are required for the token endpoint",
    )
  }
  const { clientId, clientSecret: secret } = by.value
  return {
    auth: { kind: "xoauth2", tokenEndpoint, scopes: [...scopes], clientId },
    secret,
  } as const
}

/** The secret to use: the stored one only if the destination is unchanged. */
export function secretFor(
  cx: Cx,
  { id, wish: input }: { id: string; wish: ProviderInput },
): string {
  if (input.secret || id === "") return input.secret ?? ""
  const current = findProvider(cx, "email", id)
  return destinationOf(current) === destinationOf(input.settings) ? secretOf(cx, id) : ""
}

/** The stored SMTP settings; throws if the provider is not an SMTP server. */
export function requireSmtp(cx: Cx, id: string): Smtp {
  const found = findProvider(cx, "email", id)
  if (found.kind === "smtp") return found
  throw new Fault(
    "failed_precondition",
    "message_provider.not_smtp",
    "this provider is not an SMTP server; only SMTP servers can be tested",
  )
}

export const stepsOf = (steps: readonly MailStep[]) => ({
  steps: steps.map(({ name, detail }) => ({ name, detail })),
})
