import type { MessageInitShape } from "@bufbuild/protobuf"
import { bindHandlers } from "../../api/method.ts"
import { AdminService } from "../../gen/core/admin/v1/admin_service_pb.ts"
import { type SMTPConfigSchema, SMTPConfigState } from "../../gen/core/settings/v1/provider_pb.ts"
import type { Cx } from "../../store/index.ts"
import { requireNoProvider, secretOf } from "./commands.ts"
import { detailsOf, operationsOf, type ProviderStatus } from "./operations.ts"
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

/** The older operations for SMTP servers. */
export const admin = bindHandlers<Cx>()(AdminService, {
  listSMTPConfigs: ({ query }, cx) => {
    const { details, rows } = email.list(cx, query, ["smtp"])
    return { details, result: rows.map((row) => toConfig(cx, row)) }
  },
  getSMTPConfig: (_, cx) => ({ smtpConfig: toConfig(cx, email.active(cx) ?? requireNoProvider()) }),
  getSMTPConfigById: (req, cx) => ({ smtpConfig: toConfig(cx, email.find(cx, req)) }),
  addSMTPConfig: (req, cx) => email.add(cx, inputOf(req)),
  updateSMTPConfig: (req, cx) => email.change(cx, req, smtpChange(req)),
  updateSMTPConfigPassword: ({ id, password: secret }, cx) =>
    email.changeSecret(cx, { id }, { kind: "smtp", secret }),
  activateSMTPConfig: email.activate,
  deactivateSMTPConfig: email.deactivate,
  removeSMTPConfig: email.remove,
  testSMTPConfigById: async ({ id, receiverAddress: receiver }, cx) =>
    stepsOf(
      await testServer(cx, { settings: requireSmtp(cx, id), secret: secretOf(cx, id), receiver }),
    ),
  testSMTPConfig: async (req, cx) => {
    const input = inputOf(req, storedProvider(cx, req.id))
    const secret = secretFor(cx, { id: req.id, wish: input })
    const { settings } = input
    return stepsOf(await testServer(cx, { settings, secret, receiver: req.receiverAddress }))
  },
})

/** Of a provider that is not an SMTP server, only its existence is returned. */
function toConfig(cx: Cx, display: ProviderStatus): MessageInitShape<typeof SMTPConfigSchema> {
  const { provider, isActive } = display
  const { senderAddress, senderName, tls, host, user, replyToAddress } = requireSmtp(
    cx,
    provider.id,
  )
  return {
    id: provider.id,
    details: detailsOf(cx, display),
    description: provider.description,
    state: isActive ? SMTPConfigState.SMTP_CONFIG_ACTIVE : SMTPConfigState.SMTP_CONFIG_INACTIVE,
    senderAddress,
    senderName,
    tls,
    host,
    user,
    replyToAddress,
  }
}
