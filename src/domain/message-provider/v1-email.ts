import type { MessageInitShape } from "@bufbuild/protobuf"
import { bindHandlers } from "../../api/method.ts"
import { AdminService } from "../../gen/core/admin/v1/admin_service_pb.ts"
import {
  type EmailProviderSchema,
  type EmailProviderSMTPSchema,
  EmailProviderState,
} from "../../gen/core/settings/v1/provider_pb.ts"
import type { Cx } from "../../store/index.ts"
import { requireNoProvider, secretOf } from "./commands.ts"
import type { Smtp, SmtpAuth } from "./model.ts"
import {
  createServiceUpdate,
  createSigningKey,
  detailsOf,
  operationsOf,
  type ProviderStatus,
} from "./operations.ts"
import { testServer } from "./test.ts"
import {
  inputOf,
  requireSmtp,
  secretFor,
  smtpChange,
  stepsOf,
  storedProvider,
} from "./v1-smtp-input.ts"

const email = operationsOf("email")

/** The email providers. */
export const admin = bindHandlers<Cx>()(AdminService, {
  listEmailProviders: ({ query }, cx) => {
    const { details, rows } = email.list(cx, query)
    return { details, result: rows.map((row) => toEmailProvider(cx, row)) }
  },
  getEmailProvider: (_, cx) => ({
    config: toEmailProvider(cx, email.active(cx) ?? requireNoProvider()),
  }),
  getEmailProviderById: (req, cx) => ({ config: toEmailProvider(cx, email.find(cx, req)) }),
  addEmailProviderSMTP: (req, cx) => email.add(cx, inputOf(req)),
  updateEmailProviderSMTP: (req, cx) => email.change(cx, req, smtpChange(req)),
  updateEmailProviderSMTPPassword: ({ id, password: secret }, cx) =>
    email.changeSecret(cx, { id }, { kind: "smtp", secret }),
  addEmailProviderHTTP: async ({ endpoint, description }, cx) => {
    const signingKey = createSigningKey(cx)
    const settings = { kind: "http", description, endpoint } as const
    return { ...(await email.add(cx, { settings, secret: signingKey })), signingKey }
  },
  updateEmailProviderHTTP: async (req, cx) => {
    const { secret, wish: input } = createServiceUpdate(cx, req)
    const changed = await email.change(cx, req, input)
    return { ...changed, ...(secret && { signingKey: secret }) }
  },
  activateEmailProvider: email.activate,
  deactivateEmailProvider: email.deactivate,
  removeEmailProvider: email.remove,
  testEmailProviderSMTPById: async ({ id, receiverAddress: receiver }, cx) =>
    stepsOf(
      await testServer(cx, { settings: requireSmtp(cx, id), secret: secretOf(cx, id), receiver }),
    ),
  testEmailProviderSMTP: async (req, cx) => {
    const input = inputOf(req, storedProvider(cx, req.id))
    const secret = secretFor(cx, { id: req.id, wish: input })
    const { settings } = input
    return stepsOf(await testServer(cx, { settings, secret, receiver: req.receiverAddress }))
  },
  // Undeliverable messages are stored and can be viewed; they are never written to files.
  getFileSystemNotificationProvider: () => requireNoProvider(),
  getLogNotificationProvider: () => requireNoProvider(),
})

function toEmailProvider(
  cx: Cx,
  display: ProviderStatus,
): MessageInitShape<typeof EmailProviderSchema> {
  const { provider, isActive } = display
  return {
    id: provider.id,
    details: detailsOf(cx, display),
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
