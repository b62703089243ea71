import type { MessageInitShape } from "@bufbuild/protobuf"
import { share } from "../../api/method.ts"
import { AdminService } from "../../gen/core/admin/v1/admin_service_pb.ts"
import {
  type EmailProviderSchema,
  type EmailProviderSMTPSchema,
  EmailProviderState,
} from "../../gen/core/settings/v1/provider_pb.ts"
import type { Cx } from "../../store/index.ts"
import { noneActiveError, secretOf } from "./commands.ts"
import type { Smtp, SmtpAuth } from "./model.ts"
import { newSigningKey, operationsOf, type Shown, serviceChange, standOf } from "./operation.ts"
import { tryServer } from "./try.ts"
import { keptFor, secretFor, smtpChange, smtpOf, stepsOf, wishOf } from "./v1-smtp-form.ts"

const email = operationsOf("email")

/** What mail is sent by. */
export const admin = share<Cx>()(AdminService, {
  listEmailProviders: ({ query }, cx) => {
    const { details, rows } = email.list(cx, query)
    return { details, result: rows.map((row) => toEmailProvider(cx, row)) }
  },
  getEmailProvider: (_, cx) => ({
    config: toEmailProvider(cx, email.active(cx) ?? noneActiveError()),
  }),
  getEmailProviderById: (req, cx) => ({ config: toEmailProvider(cx, email.find(cx, req)) }),
  addEmailProviderSMTP: (req, cx) => email.add(cx, wishOf(req)),
  updateEmailProviderSMTP: (req, cx) => email.change(cx, req, smtpChange(req)),
  updateEmailProviderSMTPPassword: ({ id, password: secret }, cx) =>
    email.changeSecret(cx, { id }, { kind: "smtp", secret }),
  addEmailProviderHTTP: async ({ endpoint, description }, cx) => {
    const signingKey = newSigningKey(cx)
    const settings = { kind: "http", description, endpoint } as const
    return { ...(await email.add(cx, { settings, secret: signingKey })), signingKey }
  },
  updateEmailProviderHTTP: async (req, cx) => {
    const { secret, wish } = serviceChange(cx, req)
    const changed = await email.change(cx, req, wish)
    return { ...changed, ...(secret && { signingKey: secret }) }
  },
  activateEmailProvider: email.activate,
  deactivateEmailProvider: email.deactivate,
  removeEmailProvider: email.remove,
  testEmailProviderSMTPById: async ({ id, receiverAddress: receiver }, cx) =>
    stepsOf(await tryServer(cx, { settings: smtpOf(cx, id), secret: secretOf(cx, id), receiver })),
  testEmailProviderSMTP: async (req, cx) => {
    const wish = wishOf(req, keptFor(cx, req.id))
    const secret = secretFor(cx, { id: req.id, wish })
    const { settings } = wish
    return stepsOf(await tryServer(cx, { settings, secret, receiver: req.receiverAddress }))
  },
  // Messages that can't go out are kept and shown; nothing is written where others might read it.
  getFileSystemNotificationProvider: () => noneActiveError(),
  getLogNotificationProvider: () => noneActiveError(),
})

function toEmailProvider(cx: Cx, shown: Shown): MessageInitShape<typeof EmailProviderSchema> {
  const { provider, isActive } = shown
  return {
    id: provider.id,
    details: standOf(cx, shown),
    state: isActive
      ? EmailProviderState.EMAIL_PROVIDER_ACTIVE
      : EmailProviderState.EMAIL_PROVIDER_INACTIVE,
    description: provider.description,
    config:
      provider.kind === "smtp"
        ? { case: "smtp", value: toSmtp(provider) }
        : { case: "http", value: { endpoint: provider.kind === "http" ? provider.endpoint : "" } },
  }
}

const toSmtp = ({ auth, implicitTls, caCertificate, privateNetwork, ...smtp }: Smtp) => ({
  senderAddress: smtp.senderAddress,
  senderName: smtp.senderName,
  tls: smtp.tls,
  host: smtp.host,
  user: smtp.user,
  replyToAddress: smtp.replyToAddress,
  implicitTls: implicitTls === true,
  caCertificate: caCertificate ?? "",
  privateNetwork: privateNetwork === true,
  Auth: toAuth(auth),
})

function toAuth(
  auth: SmtpAuth,
): NonNullable<MessageInitShape<typeof EmailProviderSMTPSchema>["Auth"]> {
  if (auth.kind === "none") return { case: "none", value: {} } as const
  if (auth.kind === "plain") return { case: "plain", value: {} } as const
  const { tokenEndpoint, scopes, clientId } = auth
  const by = { case: "clientCredentials", value: { clientId } } as const
  return { case: "xoauth2", value: { tokenEndpoint, scopes: [...scopes], OAuth2Type: by } } as const
}
